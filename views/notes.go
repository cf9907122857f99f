package views

import (
	"bytes"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/smolwc/smolwc/sql/message"
	"github.com/smolwc/smolwc/sql/rowkey"
	"github.com/smolwc/smolwc/sql/value"
)

// The notes of views and of tables are messages of Bigtable's API, which this package reads
// field by field: the packages of these messages contain gRPC.

// eachField calls do for each field of a message, with its number or its content.
func eachField(b []byte, do func(field protowire.Number, n uint64, content []byte) error) error {
	for len(b) > 0 {
		field, kind, size := protowire.ConsumeTag(b)
		if size < 0 {
			return protowire.ParseError(size)
		}
		b = b[size:]
		var n uint64
		var content []byte
		switch kind {
		case protowire.VarintType:
			n, size = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			content, size = protowire.ConsumeBytes(b)
		default:
			size = protowire.ConsumeFieldValue(field, kind, b)
		}
		if size < 0 {
			return protowire.ParseError(size)
		}
		b = b[size:]
		if err := do(field, n, content); err != nil {
			return err
		}
	}
	return nil
}

// A tableNote is the part of a table's note that queries need: a CreateTableRequest, with the
// schema bundles in a field of smolwc's own.
type tableNote struct {
	raw     []byte
	rowKeys *rowkey.Schema
	bundles map[string]func() (*message.Bundle, error) // by their ids; read when they are first used
}

const (
	requestTable  protowire.Number = 3     // of a CreateTableRequest
	requestBundle protowire.Number = 64102 // the same: a SchemaBundle
	tableRowKeys  protowire.Number = 15    // of a Table
)

func readTableNote(b []byte) (*tableNote, error) {
	note := &tableNote{raw: bytes.Clone(b), bundles: map[string]func() (*message.Bundle, error){}}
	return note, eachField(note.raw, func(field protowire.Number, _ uint64, content []byte) error {
		switch field {
		case requestTable:
			return eachField(content, func(field protowire.Number, _ uint64, content []byte) (err error) {
				if field == tableRowKeys {
					note.rowKeys, err = readRowKeys(content)
				}
				return err
			})
		case requestBundle:
			return note.readBundle(content)
		}
		return nil
	})
}

// readBundle reads a SchemaBundle: its name is its id.
func (note *tableNote) readBundle(b []byte) error {
	var id string
	var descriptors []byte
	err := eachField(b, func(field protowire.Number, _ uint64, content []byte) error {
		switch field {
		case 1:
			id = string(content)
		case 2: // a ProtoSchema
			return eachField(content, func(field protowire.Number, _ uint64, content []byte) error {
				if field == 2 {
					descriptors = content
				}
				return nil
			})
		}
		return nil
	})
	note.bundles[id] = sync.OnceValues(func() (*message.Bundle, error) { return message.Parse(id, descriptors) })
	return err
}

// Bundle finds a schema bundle of the table. It is a [sql.Bundles].
func (note *tableNote) bundle(id string) (b *message.Bundle, ok bool, err error) {
	types, ok := note.bundles[id]
	if !ok {
		return nil, false, nil
	}
	b, err = types()
	return b, true, err
}

// readRowKeys reads a Type.Struct. A field whose type cannot be encoded in row keys gets
// the type NULL.
func readRowKeys(b []byte) (*rowkey.Schema, error) {
	layout, delimiter := rowkey.Singleton, ""
	var fields []rowkey.Field
	err := eachField(b, func(field protowire.Number, _ uint64, content []byte) error {
		switch field {
		case 1:
			f, err := readKeyField(content)
			fields = append(fields, f)
			return err
		case 2:
			return eachField(content, func(encoding protowire.Number, _ uint64, content []byte) error {
				switch encoding {
				case 2:
					layout = rowkey.Delimited
					return eachField(content, func(_ protowire.Number, _ uint64, content []byte) error {
						delimiter = string(content)
						return nil
					})
				case 3:
					layout = rowkey.Ordered
				}
				return nil
			})
		}
		return nil
	})
	return rowkey.New(layout, delimiter, fields...), err
}

// readKeyField reads a Type.Struct.Field.
func readKeyField(b []byte) (f rowkey.Field, err error) {
	err = eachField(b, func(field protowire.Number, _ uint64, content []byte) error {
		if field == 1 {
			f.Name = string(content)
			return nil
		}
		return eachField(content, func(kind protowire.Number, _ uint64, content []byte) error {
			f.Kind = keyKinds[kind]
			levels := 1 // of messages around the encoding of a number
			if f.Kind == value.TypeTimestamp {
				levels = 2
			}
			f.OrderedCode = (f.Kind == value.TypeInt64 || f.Kind == value.TypeTimestamp) && hasOrderedCode(content, levels)
			return nil
		})
	})
	return f, err
}

// keyKinds are the kinds of fields, by the numbers of the fields of a Type.
var keyKinds = map[protowire.Number]value.Kind{1: value.TypeBytes, 2: value.TypeString, 5: value.TypeInt64, 10: value.TypeTimestamp}

// hasOrderedCode reports whether an encoding of numbers is ordered code and not big-endian.
func hasOrderedCode(b []byte, levels int) (yes bool) {
	_ = eachField(b, func(field protowire.Number, _ uint64, content []byte) error {
		if levels > 0 && field == 1 {
			yes = hasOrderedCode(content, levels-1)
		}
		yes = yes || levels == 0 && field == 2
		return nil
	})
	return yes
}
