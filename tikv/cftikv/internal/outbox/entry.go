// Package outbox encodes a commit in the log of changes.
package outbox

import (
	"encoding/binary"
	"errors"

	"github.com/smolwc/smolwc/cf"
)

// A Family is a family whose cells a commit changed. Born distinguishes it from later
// families of the same name.
type Family struct {
	Name string
	Born uint32
}

// format begins each entry.
const format = 1

// Append encodes the operations of a batch, and its notes. It leaves out the changes of
// the catalog. born is the number of a family.
func Append(dst []byte, b *cf.Batch, born func(family string) uint32) []byte {
	numbers := map[string]uint64{"": 0}
	var families []byte
	for _, op := range b.Ops() {
		if _, known := numbers[op.Family]; !known {
			families = appendBytes(families, []byte(op.Family))
			families = binary.AppendUvarint(families, uint64(born(op.Family)))
			numbers[op.Family] = uint64(len(numbers))
		}
	}
	dst = append(dst, format)
	dst = append(binary.AppendUvarint(dst, uint64(len(numbers)-1)), families...)
	for i := range b.Ops() {
		op := &b.Ops()[i]
		if op.Kind == cf.OpPutMeta || op.Kind == cf.OpDeleteMeta {
			continue
		}
		dst = binary.AppendUvarint(append(dst, byte(op.Kind)), numbers[op.Family])
		dst = appendBytes(appendBytes(dst, b.Key(op)), b.Value(op))
	}
	return dst
}

func appendBytes(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

var errEntry = errors.New("an entry of the log of changes cannot be decoded")

// Decode is the inverse of Append. It leaves out the operations of families that there
// are no longer. The operations share the memory of the entry.
func Decode(entry []byte, there func(Family) bool) (ops []cf.LoggedOp, err error) {
	r := reader{rest: entry}
	if len(entry) == 0 || r.byte() != format {
		return nil, errEntry
	}
	names, known := []string{""}, []bool{true}
	for n := r.number(); n > 0 && !r.bad; n-- {
		f := Family{Name: string(r.bytes()), Born: uint32(r.number())}
		names, known = append(names, f.Name), append(known, there(f))
	}
	for len(r.rest) > 0 && !r.bad {
		kind, family := cf.OpKind(r.byte()), r.number()
		key, value := r.bytes(), r.bytes()
		if r.bad || family >= uint64(len(names)) || kind > cf.OpNote {
			return nil, errEntry
		}
		if known[family] {
			ops = append(ops, cf.LoggedOp{Kind: kind, Family: names[family], Key: key, Value: value})
		}
	}
	if r.bad {
		return nil, errEntry
	}
	return ops, nil
}

// A reader takes bytes from an entry; bad is set when they do not suffice.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) byte() byte {
	if len(r.rest) == 0 {
		r.bad = true
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		r.bad = true
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *reader) bytes() []byte {
	n := r.number()
	if n > uint64(len(r.rest)) {
		r.bad = true
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}
