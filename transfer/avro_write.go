package transfer

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/klauspost/compress/flate"

	"github.com/smolwc/smolwc/cells"
)

// avroSchema is the record of Dataflow's templates between Bigtable and Avro files.
const avroSchema = `{"type":"record","name":"BigtableRow","namespace":"com.google.cloud.teleport.bigtable","fields":[` +
	`{"name":"key","type":"bytes"},{"name":"cells","type":{"type":"array","items":{"type":"record","name":"BigtableCell","fields":[` +
	`{"name":"family","type":"string"},{"name":"qualifier","type":"bytes"},{"name":"timestamp","type":"long","logicalType":"timestamp-micros"},{"name":"value","type":"bytes"}]}}}]}`

// avroSync stands between the blocks of a file.
const avroSync = "\x8fsmolwc\x00blocks\x1d\xc3"

// avroRows writes an Avro container: each record has cells of one row, and a large row has
// several records. Values are as Bigtable encodes them.
type avroRows struct{ w io.Writer }

// An avroBlock is a chunk as a block of a file.
type avroBlock struct {
	records int64
	data    []byte // deflated
}

func (a *avroRows) begin(w io.Writer) error {
	a.w = w
	b := append([]byte("Obj\x01"), 4) // a map of two, as a zigzag number
	for _, s := range []string{"avro.schema", avroSchema, "avro.codec", "deflate"} {
		b = appendAvro(b, s)
	}
	b = append(b, 0)
	_, err := a.w.Write(append(b, avroSync...))
	return err
}

func appendAvro[T string | []byte](b []byte, s T) []byte {
	return append(binary.AppendVarint(b, int64(len(s))), s...)
}

func (a *avroRows) encode(c *chunk) (encoded, error) {
	var plain, value []byte
	block := avroBlock{}
	for i := 0; i < len(c.cells); block.records++ {
		end := i + 1
		for end < len(c.cells) && c.keys[end] == c.keys[i] {
			end++
		}
		plain = appendAvro(plain, c.keys[i])
		plain = binary.AppendVarint(plain, int64(end-i))
		for ; i < end; i++ {
			cell := &c.cells[i]
			plain = appendAvro(appendAvro(plain, cell.Family), cell.Qualifier)
			plain = binary.AppendVarint(plain, int64(inMillis(cell.Timestamp)))
			value = appendBigtable(value[:0], cell.Value)
			plain = appendAvro(plain, value)
		}
		plain = append(plain, 0)
	}
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.DefaultCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(plain); err != nil {
		return nil, err
	}
	err = w.Close()
	block.data = out.Bytes()
	return block, err
}

func (a *avroRows) write(e encoded) error {
	block, ok := e.(avroBlock)
	if !ok {
		return fmt.Errorf("%T is no block of an Avro file", e)
	}
	b := binary.AppendVarint(nil, block.records)
	_, err := a.w.Write(append(appendAvro(b, block.data), avroSync...))
	return err
}

func (a *avroRows) end() error { return nil }

// inMillis is a timestamp as Bigtable takes it: in whole milliseconds.
func inMillis(t cells.Timestamp) cells.Timestamp { return t - t%1000 }

// sameMillis reports whether b is an older version of the column of a in the same
// millisecond. Bigtable keeps one cell for each.
func sameMillis(a, b *cells.Cell) bool {
	return a.Family == b.Family && a.Qualifier == b.Qualifier && inMillis(a.Timestamp) == inMillis(b.Timestamp)
}

// appendBigtable appends a value as Bigtable's value types encode it.
func appendBigtable(b []byte, v cells.Value) []byte {
	switch v.Type() {
	case cells.TypeBytes:
		raw, _ := v.AsBytes()
		return append(b, raw...)
	case cells.TypeString:
		text, _ := v.AsString()
		return append(b, text...)
	case cells.TypeBool:
		if is, _ := v.AsBool(); is {
			return append(b, 1)
		}
		return append(b, 0)
	case cells.TypeF32:
		f, _ := v.AsF32()
		return binary.BigEndian.AppendUint32(b, math.Float32bits(f))
	case cells.TypeF64:
		f, _ := v.AsF64()
		return binary.BigEndian.AppendUint64(b, math.Float64bits(f))
	}
	n, _ := v.Int()
	return binary.BigEndian.AppendUint64(b, uint64(n))
}
