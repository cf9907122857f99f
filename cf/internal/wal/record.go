package wal

import (
	"encoding/binary"
	"fmt"

	"github.com/smolwc/smolwc/cf"
)

// RocksDB's representation of a batch is a sequence number of 8 bytes, which the engine
// fills in, the number of records in 4 bytes, both little-endian, and the records. A
// record is a tag, the column family's number unless it is the default family, and one
// or two strings, each after its length (db/write_batch.cc, stable since 2014).
const (
	RepHeader = 12 // bytes before the records

	// Tags of records.
	RepDelete         = 0x0
	RepPut            = 0x1
	RepFamilyDelete   = 0x4
	RepFamilyPut      = 0x5
	RepFamilyMerge    = 0x6
	RepFamilyDelRange = 0xe
	RepLogData        = 0x3
)

// RocksDB writes the batches of several writers as one record of the log when they come
// at the same time. So a batch with notes is framed by log data of one byte, and its
// notes are log data that begin with another byte (docs/format.md).
const (
	FrameNote  = 0x00
	FrameBegin = 0x01
	FrameEnd   = 0x02
	FrameTime  = 0x03 // in or outside of a frame: when the batch was written, 8 bytes, big-endian
)

// Further tags: of records that smolwc does not write, and of a record that changes
// nothing.
const (
	repMerge        = 0x2
	repSingle       = 0x7
	repFamilySingle = 0x8
	repNoop         = 0xd
	repDelRange     = 0xf
)

// repOps maps tags to kinds of operations.
var repOps = map[byte]cf.OpKind{
	RepPut: cf.OpPut, RepFamilyPut: cf.OpPut, RepDelete: cf.OpDelete, RepFamilyDelete: cf.OpDelete,
	repSingle: cf.OpDelete, repFamilySingle: cf.OpDelete, repMerge: cf.OpMerge, RepFamilyMerge: cf.OpMerge,
	repDelRange: cf.OpDeleteRange, RepFamilyDelRange: cf.OpDeleteRange,
}

// A recordParser takes commits out of a record.
type recordParser struct {
	rest   []byte
	at     uint64 // the sequence number of the next change
	family func(id uint32) string

	time int64 // the latest of the batches

	open    *cf.Commit
	commits []*cf.Commit

	each func(kind cf.OpKind, family uint32, op *cf.LoggedOp) error // of Each
	id   uint32                                                     // the number of the family of the operation

	stopped error // of each
}

// Each calls fn for each change of a record. The catalog is the family 0.
func Each(record []byte, fn func(kind cf.OpKind, family uint32, op *cf.LoggedOp) error) error {
	head, err := ParseHead(record)
	if err != nil {
		return err
	}
	p := recordParser{rest: record[RepHeader:], at: head.First, each: fn}
	return p.all(head)
}

// TimeOf is when a record was written, in microseconds since 1970; 0 if it does not say. Of
// several batches the latest time counts.
func TimeOf(record []byte) (int64, error) {
	head, err := ParseHead(record)
	if err != nil {
		return 0, err
	}
	p := recordParser{rest: record[RepHeader:], at: head.First}
	err = p.all(head)
	return p.time, err
}

// AppendTime appends the time of a batch to its representation.
func AppendTime(dst []byte, micros int64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, RepLogData, 1+8, FrameTime), uint64(micros))
}

// ParseRecord returns the framed batches of a record. They share its memory. family is
// the name of a family, "" if it is unknown.
func ParseRecord(record []byte, family func(id uint32) string) ([]*cf.Commit, error) {
	head, err := ParseHead(record)
	if err != nil {
		return nil, err
	}
	p := recordParser{rest: record[RepHeader:], at: head.First, family: family}
	if err := p.all(head); err != nil {
		return nil, err
	}
	return p.commits, nil
}

// all takes the whole record apart.
func (p *recordParser) all(head Head) error {
	for len(p.rest) > 0 {
		if err := p.op(); err != nil && err == p.stopped {
			return err
		} else if err != nil {
			return fmt.Errorf("%w: record %d of the log: %w", cf.ErrCorrupt, head.First, err)
		}
	}
	switch {
	case p.open != nil:
		return fmt.Errorf("%w: record %d of the log: a batch has no end", cf.ErrCorrupt, head.First)
	case p.at != head.First+head.Count:
		return fmt.Errorf("%w: record %d of the log has %d changes, not %d", cf.ErrCorrupt, head.First, p.at-head.First, head.Count)
	}
	return nil
}

func (p *recordParser) op() error {
	tag := p.rest[0]
	p.rest = p.rest[1:]
	switch tag {
	case repNoop:
		return nil
	case RepLogData:
		data, err := p.string()
		if err != nil {
			return err
		}
		return p.logData(data)
	}
	kind, ok := repOps[tag]
	if !ok {
		return fmt.Errorf("unknown tag %#x", tag)
	}
	op := cf.LoggedOp{Kind: kind}
	if err := p.fields(tag, &op); err != nil {
		return err
	}
	p.at++
	if p.each != nil {
		p.stopped = p.each(kind, p.id, &op)
		return p.stopped
	}
	if p.open != nil && op.Family != "" {
		p.open.Ops = append(p.open.Ops, op)
	}
	return nil
}

// fields reads the fields after a tag. Operations on the catalog have no family.
func (p *recordParser) fields(tag byte, op *cf.LoggedOp) (err error) {
	p.id = 0
	switch tag {
	case RepFamilyPut, RepFamilyDelete, repFamilySingle, RepFamilyMerge, RepFamilyDelRange:
		id, n := binary.Uvarint(p.rest)
		if n <= 0 || id > 1<<32-1 {
			return fmt.Errorf("a family's number is cut off")
		}
		p.rest = p.rest[n:]
		p.id = uint32(id)
		if p.open != nil && p.family != nil {
			op.Family = p.family(uint32(id))
		}
	}
	if op.Key, err = p.string(); err != nil || op.Kind == cf.OpDelete {
		return err
	}
	op.Value, err = p.string()
	return err
}

func (p *recordParser) string() ([]byte, error) {
	size, n := binary.Uvarint(p.rest)
	if n <= 0 || size > uint64(len(p.rest)-n) {
		return nil, fmt.Errorf("a string is cut off")
	}
	s := p.rest[n : n+int(size) : n+int(size)]
	p.rest = p.rest[n+int(size):]
	return s, nil
}

func (p *recordParser) logData(data []byte) error {
	switch {
	case len(data) == 1 && data[0] == FrameBegin && p.open == nil:
		p.open = &cf.Commit{Before: cf.Position(p.at - 1)}
	case len(data) == 1 && data[0] == FrameEnd && p.open != nil:
		p.open.At = cf.Position(p.at - 1)
		p.commits = append(p.commits, p.open)
		p.open = nil
	case len(data) > 0 && data[0] == FrameNote && p.open != nil:
		p.open.Ops = append(p.open.Ops, cf.LoggedOp{Kind: cf.OpNote, Value: data[1:]})
	case len(data) == 1+8 && data[0] == FrameTime:
		p.time = max(p.time, int64(binary.BigEndian.Uint64(data[1:])))
	default:
		return fmt.Errorf("log data %.8x in a wrong place", data)
	}
	return nil
}
