package tuple

// Options say which values may be packed and unpacked. The zero Options are
// strict; the functions [Pack], [AppendPack], [Unpack] and [Range] use them.
type Options struct {
	// AnyStrings lets strings hold bytes that are not UTF-8, for keys that other
	// programs wrote: the Go binding of FoundationDB, for one, packs a string of
	// any bytes. Bindings whose strings are Unicode cannot read such keys, so use
	// []byte for bytes of your own.
	AnyStrings bool
}

// Pack is the function [Pack] with options.
func (o Options) Pack(elems ...any) ([]byte, error) { return o.AppendPack(nil, elems) }

// AppendPack is the function [AppendPack] with options.
func (o Options) AppendPack(dst []byte, t Tuple) ([]byte, error) {
	out, err := o.appendTuple(dst, t, 0)
	if err != nil {
		return dst, err
	}
	return out, nil
}

// Unpack is the function [Unpack] with options: it accepts exactly the bytes that
// Pack with the same options produces.
func (o Options) Unpack(b []byte) (Tuple, error) {
	d := decoder{Options: o, src: b}
	return d.tuple()
}
