package pebble

import (
	"encoding/binary"
	"fmt"

	engine "github.com/cockroachdb/pebble/v2"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/fields"
)

// eachOp calls fn for each operation, with the number of its space or family. Log data is a
// note, with its first byte.
func eachOp(ops []byte, fn func(id uint32, op *cf.LoggedOp) error) error {
	r := fieldReader{fields.Reader{Rest: ops}}
	for len(r.Rest) > 0 {
		kind, key, value := r.op()
		if r.Bad {
			return fmt.Errorf("%w: an operation of kind %d in the log", cf.ErrCorrupt, kind)
		}
		if kind == engine.InternalKeyKindLogData {
			if len(key) > 0 {
				if err := fn(0, &cf.LoggedOp{Kind: cf.OpNote, Value: key}); err != nil {
					return err
				}
			}
			continue
		}
		op, err := opOf(kind, key, value)
		if err == nil {
			err = fn(binary.BigEndian.Uint32(key), op)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func opOf(kind engine.InternalKeyKind, key, value []byte) (*cf.LoggedOp, error) {
	if len(key) < idLen {
		return nil, fmt.Errorf("%w: a change of kind %d in the log has the key %x", cf.ErrCorrupt, kind, key)
	}
	op := &cf.LoggedOp{Key: key[idLen:], Value: value}
	switch kind {
	case engine.InternalKeyKindSet:
		if op.Kind = cf.OpPut; binary.BigEndian.Uint32(key) >= firstFamily {
			op.Value = plain(value)
		}
	case engine.InternalKeyKindDelete, engine.InternalKeyKindDeleteSized:
		op.Kind = cf.OpDelete
	case engine.InternalKeyKindMerge:
		operands := operandsOf(value)
		if len(operands) != 1 {
			return nil, fmt.Errorf("%w: a merge in the log has %d operands", cf.ErrCorrupt, len(operands))
		}
		op.Kind, op.Value = cf.OpMerge, operands[0]
	case engine.InternalKeyKindRangeDelete:
		if len(value) < idLen {
			return nil, fmt.Errorf("%w: a deleted range in the log ends with %x", cf.ErrCorrupt, value)
		}
		op.Kind, op.Value = cf.OpDeleteRange, value[idLen:]
	default:
		return nil, fmt.Errorf("%w: a change of kind %d in the log", cf.ErrCorrupt, kind)
	}
	return op, nil
}

// timeOf is when a record was written, 0 if it does not say it.
func (r *record) timeOf() (micros int64, err error) {
	err = eachOp(r.ops, func(_ uint32, op *cf.LoggedOp) error {
		if op.Kind == cf.OpNote && op.Value[0] == logTime && len(op.Value) == 1+8 {
			micros = max(micros, int64(binary.BigEndian.Uint64(op.Value[1:])))
		}
		return nil
	})
	return micros, err
}
