//go:build cgo && linux && !norocksdb

package rocks

import (
	"encoding/binary"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/wal"
	"github.com/smolwc/smolwc/cf/rocks/internal/files"
)

// A rep is the representation of a batch. The tails of values are parts of it.
type rep struct {
	bytes []byte
	parts []files.Part
}

// encode makes r the representation of a batch, in its own memory. at is its time, 0 if the log does not say it.
func (r *rep) encode(b *cf.Batch, open families, at int64) (err error) {
	r.parts = nil
	r.bytes, err = r.append(r.bytes[:0], b, open, at)
	return err
}

func (r *rep) append(dst []byte, b *cf.Batch, open families, at int64) ([]byte, error) {
	dst = append(dst, make([]byte, wal.RepHeader)...)
	binary.LittleEndian.PutUint32(dst[8:], uint32(len(b.Ops())-b.Notes()))
	if at != 0 {
		dst = wal.AppendTime(dst, at)
	}
	if b.Notes() > 0 {
		dst = append(dst, wal.RepLogData, 1, wal.FrameBegin)
	}
	var f *family
	for i := range b.Ops() {
		op := &b.Ops()[i]
		switch op.Kind {
		case cf.OpPutMeta:
			dst = appendString(appendString(append(dst, wal.RepPut), b.Key(op)), b.Value(op))
			continue
		case cf.OpDeleteMeta:
			dst = appendString(append(dst, wal.RepDelete), b.Key(op))
			continue
		case cf.OpNote:
			dst = binary.AppendUvarint(append(dst, wal.RepLogData), uint64(1+len(b.Value(op))))
			dst = append(append(dst, wal.FrameNote), b.Value(op)...)
			continue
		}
		if f == nil || f.Name != op.Family {
			var err error
			if f, err = open.get(op.Family); err != nil {
				return dst, err
			}
		}
		dst = r.appendCellOp(dst, f.id, b, op)
	}
	if b.Notes() > 0 {
		dst = append(dst, wal.RepLogData, 1, wal.FrameEnd)
	}
	return dst, nil
}

func (r *rep) appendCellOp(dst []byte, id uint32, b *cf.Batch, op *cf.Op) []byte {
	switch op.Kind {
	case cf.OpPut:
		dst = binary.AppendUvarint(append(dst, wal.RepFamilyPut), uint64(id))
		head, tail := b.Parts(op)
		dst = binary.AppendUvarint(appendString(dst, b.Key(op)), uint64(len(head)+len(tail)))
		if dst = append(dst, head...); tail != "" {
			r.parts = append(r.parts, files.Part{At: len(dst), Data: tail})
		}
		return dst
	case cf.OpMerge:
		dst = binary.AppendUvarint(append(dst, wal.RepFamilyMerge), uint64(id))
		return appendString(appendString(dst, b.Key(op)), b.Value(op))
	case cf.OpDelete:
		dst = binary.AppendUvarint(append(dst, wal.RepFamilyDelete), uint64(id))
		return appendString(dst, b.Key(op))
	}
	dst = binary.AppendUvarint(append(dst, wal.RepFamilyDelRange), uint64(id))
	return appendString(appendString(dst, b.Key(op)), b.Value(op))
}

func appendString(dst, s []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}
