// Package outbox encodes a commit in the log of changes.
package outbox

import (
	"encoding/binary"
	"errors"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/fields"
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
	r := fields.Reader{Rest: entry}
	if len(entry) == 0 || r.Byte() != format {
		return nil, errEntry
	}
	names, known := []string{""}, []bool{true}
	for n := r.Uvarint(); n > 0 && !r.Bad; n-- {
		f := Family{Name: string(r.Text()), Born: uint32(r.Uvarint())}
		names, known = append(names, f.Name), append(known, there(f))
	}
	for len(r.Rest) > 0 && !r.Bad {
		kind, family := cf.OpKind(r.Byte()), r.Uvarint()
		key, value := r.Text(), r.Text()
		if r.Bad || family >= uint64(len(names)) || kind > cf.OpNote {
			return nil, errEntry
		}
		if known[family] {
			ops = append(ops, cf.LoggedOp{Kind: kind, Family: names[family], Key: key, Value: value})
		}
	}
	if r.Bad {
		return nil, errEntry
	}
	return ops, nil
}
