// Package moments makes every moment of a database restorable: it sends the log of the database to an archive,
// beside the backups there, and replays it on a backup.
//
// A [Sender] sends segments of the log, each at most a second after its first record, and says in them
// which backups they continue. [Restore] makes a database as it was at a [Moment]. [Look], [Verify] and
// [Prune] do what their names say. docs/moments.md describes the layout.
package moments

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/klauspost/compress/zstd"

	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/query"
)

// A segment is an object of the archive: one or more blocks, which follow each other.
//
//	magic
//	length of the summary (4 bytes), the summary as JSON, its CRC-32C (4 bytes)
//	the blocks, compressed by zstd
//	the SHA-256 of everything before
//
// A block is what the sender sent at once: the length of its header, the header as JSON, the length of its
// records, the records, and the SHA-256 of all that. Each header repeats the sum of the block before: so no
// block can be missing, doubled, swapped or foreign without an error. A segment of one block was sent as it
// is; others were merged. Numbers are big-endian: 4 bytes for the length of a header, 8 for that of records.
//
// A record is the number of positions that it takes, the microseconds since the one before, and its length, each in varying length, and
// then its bytes as the engine wrote them.
const (
	magic = "smolwc segment 1\n"
	// maxRaw bounds the blocks of a segment, in memory too. A record is up to 1 GiB
	// large.
	maxRaw = 1<<30 + 64<<20
	// maxSegment bounds a segment.
	maxSegment = maxRaw + 1<<20
	// headBytes are read to find the summary.
	headBytes = 64 << 10
	maxHeader = 1 << 20
)

// A header describes a block.
type header struct {
	Number   uint64       `json:"number"` // counted from 1
	Database string       `json:"database"`
	Engine   query.Engine `json:"engine"`
	extent
	// Bases are backups that the log up to here continues.
	Bases []base `json:"bases,omitempty"`
	// Loads are the loads whose files become visible with a record of the block.
	Loads []load      `json:"loads,omitempty"`
	Prev  archive.Sum `json:"previous"` // of the block before; zero in the first one
}

// An extent is what blocks have of a log.
type extent struct {
	// History, Epoch and EpochID say whose the log is: see package history.
	History string `json:"history"`
	Epoch   int64  `json:"epoch"`
	EpochID string `json:"epoch_id,omitempty"`
	// The records are those after the position After up to Last. A block after a promotion may begin
	// before the end of the one before it: what is after After there was not part of the new primary.
	After uint64 `json:"after"`
	Last  uint64 `json:"last"`
	// All commits with times up to Until, in microseconds since 1970, are in the log up to Last, and none with a
	// time up to Since is in the block.
	Since int64 `json:"since"`
	Until int64 `json:"until"`
	// Begins says why this block does not continue the log of the one before; "": it does.
	Begins string `json:"begins,omitempty"`
}

// A base is a backup from which the log leads on.
type base struct {
	Generation int `json:"generation"`
	// It contains all records up to From, and none after UpTo. At At everything up to
	// UpTo had been written.
	From uint64 `json:"from"`
	UpTo uint64 `json:"up_to"`
	At   int64  `json:"at"`
	// Number is the block that contains it. In a summary only.
	Number uint64 `json:"number,omitempty"`
}

// A load is the files of a bulk load.
type load struct {
	ID    string     `json:"id"`
	Files []loadFile `json:"files"`
}

type loadFile struct {
	Name string      `json:"name"`
	Size int64       `json:"size"`
	Sum  archive.Sum `json:"sha256"`
}

// A record of the log. Times of records never go back, and are after Since.
type record struct {
	after, last uint64
	time        int64
	data        []byte
}

// A block lists its records in order.
type block struct {
	header
	records []record
	sum     archive.Sum
}

// A part of a segment is blocks of one log that follow each other.
type part struct {
	First uint64 `json:"first"` // block
	extent
}

// A summary describes a segment.
type summary struct {
	First    uint64       `json:"first"` // block
	Last     uint64       `json:"last"`
	Database string       `json:"database"`
	Engine   query.Engine `json:"engine"`
	Parts    []part       `json:"parts"`
	Bases    []base       `json:"bases,omitempty"`
	Records  int          `json:"records"`
	Bytes    int64        `json:"bytes"` // of the blocks
	Prev     archive.Sum  `json:"previous"`
	Sum      archive.Sum  `json:"sum"` // of the last block
}

// encode encodes a block, and sets its sum.
func (b *block) encode() ([]byte, error) {
	head, err := json.Marshal(b.header)
	if err != nil {
		return nil, err
	}
	var body []byte
	after, at := b.After, b.Since
	for _, r := range b.records {
		if r.after != after || r.last <= r.after || r.time < at || r.time > b.Until {
			return nil, fmt.Errorf("record %d to %d of time %d does not continue position %d of time %d", r.after, r.last, r.time, after, at)
		}
		body = binary.AppendUvarint(body, r.last-r.after)
		body = binary.AppendUvarint(body, uint64(r.time-at))
		body = binary.AppendUvarint(body, uint64(len(r.data)))
		body = append(body, r.data...)
		after, at = r.last, r.time
	}
	if after != b.Last {
		return nil, fmt.Errorf("the records end at position %d and not at %d", after, b.Last)
	}
	out := binary.BigEndian.AppendUint32(nil, uint32(len(head)))
	out = binary.BigEndian.AppendUint64(append(out, head...), uint64(len(body)))
	out = append(out, body...)
	b.sum = sha256.Sum256(out)
	return append(out, b.sum[:]...), nil
}

var errCut = errors.New("it is cut off")

// take takes the first n bytes.
func take(in *[]byte, n uint64) ([]byte, error) {
	if n > uint64(len(*in)) {
		return nil, errCut
	}
	b := (*in)[:n:n]
	*in = (*in)[n:]
	return b, nil
}

// decodeBlock decodes the first block. It shares the memory.
func decodeBlock(in *[]byte) (*block, error) {
	whole := *in
	n, err := take(in, 4)
	if err != nil {
		return nil, err
	}
	head, err := take(in, uint64(binary.BigEndian.Uint32(n)))
	if err != nil {
		return nil, err
	}
	if n, err = take(in, 8); err != nil {
		return nil, err
	}
	body, err := take(in, binary.BigEndian.Uint64(n))
	if err != nil {
		return nil, err
	}
	sum, err := take(in, sha256.Size)
	if err != nil {
		return nil, err
	}
	b := &block{sum: sha256.Sum256(whole[:len(whole)-len(*in)-sha256.Size])}
	if !bytes.Equal(sum, b.sum[:]) {
		return nil, errors.New("the checksum of a block is another one")
	}
	d := json.NewDecoder(bytes.NewReader(head))
	d.DisallowUnknownFields()
	if err := d.Decode(&b.header); err != nil {
		return nil, err
	}
	return b, b.readRecords(body)
}

func (b *block) readRecords(body []byte) error {
	at, now := b.After, b.Since
	for len(body) > 0 {
		var n [3]uint64
		for i := range n {
			v, size := binary.Uvarint(body)
			if size <= 0 {
				return errCut
			}
			n[i], body = v, body[size:]
		}
		r := record{after: at, last: at + n[0], time: now + int64(n[1])}
		if r.last <= at || r.last > b.Last || n[1] > math.MaxInt64 || r.time < now || r.time > b.Until {
			return fmt.Errorf("a record after position %d does not fit the block", at)
		}
		var err error
		if r.data, err = take(&body, n[2]); err != nil {
			return err
		}
		at, now = r.last, r.time
		b.records = append(b.records, r)
	}
	switch {
	case at != b.Last:
		return fmt.Errorf("the records end at position %d and not at %d", at, b.Last)
	case b.Number == 0 || b.Since > b.Until || b.Database == "" || b.History == "":
		return errors.New("the header of a block is incomplete")
	case b.Number == 1 && (b.Prev != archive.Sum{} || b.Begins == ""):
		return errors.New("the first block has one before it")
	}
	return nil
}

// follows says why a block does not follow another one; nil if it does.
func (b *block) follows(number uint64, sum archive.Sum, last *part) error {
	switch {
	case b.Number != number+1:
		return fmt.Errorf("segment %d does not follow %d", b.Number, number)
	case b.Prev != sum:
		return fmt.Errorf("segment %d does not follow the %d that is there, but another one", b.Number, number)
	case last == nil || b.Begins != "":
		return nil
	case b.History != last.History || b.After > last.Last || b.After < last.Last && b.Epoch <= last.Epoch || b.Epoch < last.Epoch:
		return fmt.Errorf("segment %d has the log after position %d, epoch %d, and the one before ends at %d, epoch %d", b.Number, b.After, b.Epoch, last.Last, last.Epoch)
	case b.Since != last.Until:
		return fmt.Errorf("segment %d does not begin at the time at which %d ends", b.Number, number)
	}
	return nil
}

// summarize says what blocks have that follow each other.
func summarize(blocks []*block) (summary, error) {
	first := blocks[0]
	s := summary{First: first.Number, Database: first.Database, Engine: first.Engine, Prev: first.Prev}
	number, sum, last := first.Number-1, first.Prev, (*part)(nil)
	for _, b := range blocks {
		if err := b.follows(number, sum, last); err != nil {
			return s, err
		}
		if b.Database != s.Database || b.Engine != s.Engine {
			return s, fmt.Errorf("segment %d is of database %s on %s, and %d of %s on %s", b.Number, b.Database, b.Engine, s.First, s.Database, s.Engine)
		}
		if last != nil && b.Begins == "" && b.After == last.Last && b.Epoch == last.Epoch && b.EpochID == last.EpochID {
			last.Last, last.Until = b.Last, b.Until
		} else {
			s.Parts = append(s.Parts, part{b.Number, b.extent})
			last = &s.Parts[len(s.Parts)-1]
		}
		for _, x := range b.Bases {
			x.Number = b.Number
			s.Bases = append(s.Bases, x)
		}
		number, sum = b.Number, b.sum
		s.Records += len(b.records)
	}
	s.Last, s.Sum = number, sum
	return s, nil
}

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	zipper, _  = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	unzipper   = func() *zstd.Decoder {
		d, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(maxRaw), zstd.WithDecodeAllCapLimit(true))
		return d
	}()
)

// encodeSegment makes a segment of blocks. It sets their sums.
func encodeSegment(blocks []*block) ([]byte, summary, error) {
	var raw []byte
	for _, b := range blocks {
		bytes, err := b.encode()
		if err != nil {
			return nil, summary{}, err
		}
		raw = append(raw, bytes...)
	}
	s, err := summarize(blocks)
	if err != nil {
		return nil, s, err
	}
	if s.Bytes = int64(len(raw)); s.Bytes > maxRaw {
		return nil, s, fmt.Errorf("a segment of %d bytes is too large; the limit is %d", s.Bytes, maxRaw)
	}
	head, err := json.Marshal(s)
	if err != nil {
		return nil, s, err
	}
	out := binary.BigEndian.AppendUint32([]byte(magic), uint32(len(head)))
	out = append(out, head...)
	out = binary.BigEndian.AppendUint32(out, crc32.Checksum(head, castagnoli))
	out = zipper.EncodeAll(raw, out)
	sum := sha256.Sum256(out)
	return append(out, sum[:]...), s, nil
}

// errShort: the bytes end before the summary does.
var errShort = errors.New("it ends before its summary does")

// decodeSummary decodes the summary at the beginning of a segment.
func decodeSummary(in []byte) (s summary, rest []byte, err error) {
	rest, ok := bytes.CutPrefix(in, []byte(magic))
	if !ok {
		if bytes.HasPrefix(in, []byte("smolwc segment ")) {
			return s, nil, errors.New("it has another format than 1: a newer smolwc has written it")
		}
		return s, nil, errors.New("it does not begin as a segment does")
	}
	n, err := take(&rest, 4)
	if err != nil {
		return s, nil, errShort
	}
	size := binary.BigEndian.Uint32(n)
	if size > maxHeader {
		return s, nil, errors.New("its summary is too long")
	}
	head, err := take(&rest, uint64(size))
	if err != nil {
		return s, nil, errShort
	}
	sum, err := take(&rest, 4)
	if err != nil {
		return s, nil, errShort
	}
	if crc32.Checksum(head, castagnoli) != binary.BigEndian.Uint32(sum) {
		return s, nil, errors.New("the checksum of its summary is another one")
	}
	d := json.NewDecoder(bytes.NewReader(head))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return s, nil, err
	}
	if s.First == 0 || s.Last < s.First || len(s.Parts) == 0 || s.Bytes < 0 || s.Bytes > maxRaw {
		return s, nil, errors.New("its summary is incomplete")
	}
	return s, rest, nil
}

// decodeSegment decodes a segment, and accepts only what encodeSegment writes.
func decodeSegment(in []byte) ([]*block, summary, error) {
	if len(in) < sha256.Size {
		return nil, summary{}, errCut
	}
	body, want := in[:len(in)-sha256.Size], in[len(in)-sha256.Size:]
	if sum := sha256.Sum256(body); !bytes.Equal(sum[:], want) {
		return nil, summary{}, errors.New("its checksum is another one")
	}
	s, rest, err := decodeSummary(body)
	if err != nil {
		return nil, s, err
	}
	raw, err := unzipper.DecodeAll(rest, make([]byte, 0, s.Bytes))
	if err != nil {
		return nil, s, err
	}
	if int64(len(raw)) != s.Bytes {
		return nil, s, fmt.Errorf("it has %d bytes of blocks and should have %d", len(raw), s.Bytes)
	}
	var blocks []*block
	for len(raw) > 0 {
		b, err := decodeBlock(&raw)
		if err != nil {
			return nil, s, err
		}
		blocks = append(blocks, b)
	}
	if len(blocks) == 0 {
		return nil, s, errors.New("it has no block")
	}
	got, err := summarize(blocks)
	if err != nil {
		return nil, s, err
	}
	got.Bytes = s.Bytes
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(s)
	if !bytes.Equal(a, b) {
		return nil, s, errors.New("its summary does not say what it has")
	}
	return blocks, s, nil
}
