package data

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server/internal/account"
	"github.com/smolwc/smolwc/server/internal/codec"
)

// A chunkWriter writes rows as the chunks of ReadRowsResponse messages. It
// encodes them itself: a message with pointers for every cell costs more than the
// read.
//
// A message contains whole rows, up to 1 MiB. A larger row gets a message to itself,
// since some clients decode each message separately. Clients accept up to 4 MiB in a
// message unless they ask for more, so a row beyond that comes in several messages. A
// large value comes in several chunks. Two of Bigtable's clients do not accept an
// ordinary row in several messages; see division.
type chunkWriter struct {
	send  func(*codec.Encoded) error
	large func() division // asked when a row is too large for a message
	buf   *[]byte         // nil when no chunk was written since the last message
	full  int             // a message of this many bytes or more is sent
	hold  *account.Hold   // counts rows that are large

	// spelled makes each cell name its row, family and column, as the emulator
	// does. Bigtable omits names that are the same as in the chunk before. Its
	// clients expect that; plain gRPC clients were often written against the
	// emulator.
	spelled bool
	exact   bool // each cell says the type of its value

	current   *query.Row
	size      int    // of the chunks of the current row, 0 until it is asked for
	rowStart  int    // where the current row starts in buf
	family    string // of the last chunk of the current row
	qualifier string
	chunks    int // of the current row
	cellCount int64
	room      [8]byte
}

// A division says how a row is sent that is too large for a message.
type division uint8

const (
	divided division = iota // it goes on in the next one
	keyed                   // which begins with its key again: Python's client asks for that
	whole                   // it is not divided: Go's client accepts no message that ends within a row
)

const (
	largestRow = 4 << 20   // of one row in a message
	valuePart  = 512 << 10 // larger values are split into parts of this many bytes
)

// The fields of ReadRowsResponse, and of its CellChunk.
const (
	fieldChunks      = 1
	fieldLastScanned = 2

	chunkRowKey    = 1
	chunkFamily    = 2
	chunkQualifier = 3
	chunkTimestamp = 4
	chunkLabels    = 5
	chunkValue     = 6
	chunkValueSize = 7
	chunkCommitRow = 9

	wrapped = 1 // the field of StringValue and BytesValue
)

func newChunkWriter(send func(*codec.Encoded) error, large func() division, h *account.Hold) *chunkWriter {
	return &chunkWriter{send: send, large: large, full: codec.FirstMessage, hold: h}
}

func (w *chunkWriter) close() {
	if w.buf != nil {
		codec.Buffers.Put(w.buf)
		w.buf = nil
	}
}

func (w *chunkWriter) row(row *query.Row) error {
	if err := w.ensure(); err != nil {
		return err
	}
	n := row.Len()
	w.chunks, w.rowStart, w.current, w.size = 0, len(*w.buf), row, 0
	i := 0
	for c := range row.Cells() {
		if err := w.cell(row.Key(), &c, row.Label(i), i == n-1); err != nil {
			return err
		}
		i++
	}
	w.cellCount += int64(n)
	if len(*w.buf) >= w.full {
		return w.flush()
	}
	return nil
}

func (w *chunkWriter) cell(key string, c *cells.Cell, label string, last bool) error {
	value := wire.ValueBytes(c.Value, &w.room)
	if len(value) <= valuePart {
		return w.chunk(key, c, label, value, 0, last)
	}
	total := len(value)
	if err := w.chunk(key, c, label, value[:valuePart], total, false); err != nil {
		return err
	}
	for value = value[valuePart:]; len(value) > valuePart; value = value[valuePart:] {
		if err := w.more(key, value[:valuePart], total, false); err != nil {
			return err
		}
	}
	return w.more(key, value, 0, last)
}

// chunk writes the first chunk of a cell. size is the value's when more of it
// follows, otherwise 0.
func (w *chunkWriter) chunk(key string, c *cells.Cell, label string, value []byte, size int, last bool) error {
	newRow := w.chunks == 0 || w.spelled
	newFamily := newRow || c.Family != w.family
	newColumn := newFamily || c.Qualifier != w.qualifier
	w.family, w.qualifier = c.Family, c.Qualifier

	n := 0
	if newRow {
		n += lenField(len(key))
	}
	if newFamily {
		n += lenField(wrapperLen(len(c.Family)))
	}
	if newColumn {
		n += lenField(wrapperLen(len(c.Qualifier)))
	}
	n += intField(uint64(c.Timestamp)) + textField(len(label)) + textField(len(value)) + intField(uint64(size))
	if last {
		n += 2
	}
	if w.exact {
		n += wire.ExactLen
	}
	if err := w.reserve(n); err != nil {
		return err
	}
	b := w.begin(n, key)
	w.chunks++
	if newRow {
		b = appendText(b, chunkRowKey, key)
	}
	if newFamily {
		b = appendWrapper(b, chunkFamily, c.Family)
	}
	if newColumn {
		b = appendWrapper(b, chunkQualifier, c.Qualifier)
	}
	b = appendInt(b, chunkTimestamp, uint64(c.Timestamp))
	if label != "" {
		b = appendText(b, chunkLabels, label)
	}
	if w.exact {
		b = wire.AppendExact(b, c.Value.Type())
	}
	w.end(b, value, size, last)
	return nil
}

func (w *chunkWriter) more(key string, value []byte, size int, last bool) error {
	n := textField(len(value)) + intField(uint64(size))
	if last {
		n += 2
	}
	if err := w.reserve(n); err != nil {
		return err
	}
	w.end(w.begin(n, key), value, size, last)
	return nil
}

func (w *chunkWriter) ensure() error {
	if w.buf != nil {
		return nil
	}
	if !w.hold.Spares(w.full) {
		w.full = codec.FirstMessage
	}
	if err := w.hold.Message(codec.Buffers.Size(w.full)); err != nil {
		return err
	}
	w.buf = codec.Buffers.Get(w.full)
	return nil
}

// reserve makes sure that n more bytes fit into the message: it sends the rows
// before the current one, or the part so far of a very large row.
func (w *chunkWriter) reserve(n int) error {
	have := len(*w.buf)
	switch {
	case have+n <= codec.LargestMessage, have == 0:
		return w.widen(have + chunkRoom + len(w.current.Key()) + n)
	case w.rowStart > 0:
		if err := w.flushRows(); err != nil {
			return err
		}
		return w.reserve(n)
	case w.rowSize() <= largestRow, w.large() == whole:
		return w.grow()
	}
	if err := w.flush(); err != nil {
		return err
	}
	return w.ensure()
}

func (w *chunkWriter) widen(n int) error {
	if n <= cap(*w.buf) {
		return nil
	}
	if err := w.hold.Message(max(n, codec.Buffers.Size(n))); err != nil {
		return err
	}
	wider := codec.Buffers.Get(n)
	*wider = append(slices.Grow(*wider, n), *w.buf...)
	codec.Buffers.Put(w.buf)
	w.buf = wider
	return nil
}

// grow makes room for all of a row that is not divided.
func (w *chunkWriter) grow() error {
	if cap(*w.buf) >= w.rowSize() {
		return nil
	}
	if err := w.hold.Message(w.rowSize()); err != nil {
		return err
	}
	*w.buf = slices.Grow(*w.buf, w.rowSize()-len(*w.buf))
	return nil
}

// rowSize is an upper bound of the size of all chunks of the current row.
func (w *chunkWriter) rowSize() int {
	if w.size > 0 {
		return w.size
	}
	w.size = len(w.current.Key())
	for c := range w.current.Cells() {
		size := c.Value.Len()
		w.size += chunkRoom + len(c.Family) + len(c.Qualifier) + size + size/valuePart*chunkRoom
		if w.spelled {
			w.size += len(w.current.Key())
		}
	}
	return w.size
}

// chunkRoom bounds a chunk's size without names and the value.
const chunkRoom = 64

// flushRows sends the rows before the current one.
func (w *chunkWriter) flushRows() error {
	rest := codec.Buffers.Get(len(*w.buf) - w.rowStart)
	*rest = append(*rest, (*w.buf)[w.rowStart:]...)
	*w.buf = (*w.buf)[:w.rowStart]
	err := w.flush()
	w.buf, w.rowStart = rest, 0
	if err != nil {
		return err
	}
	return w.hold.Message(cap(*rest))
}

// begin begins a chunk of n bytes and makes room for it. A row's later chunks
// have no key, except the first one in a message for clients that need it there.
func (w *chunkWriter) begin(n int, key string) []byte {
	again := w.chunks > 0 && len(*w.buf) == 0 && w.large() == keyed
	if again {
		n += lenField(len(key))
	}
	b := slices.Grow(*w.buf, lenField(n))
	b = appendLen(b, fieldChunks, n)
	if again {
		b = appendText(b, chunkRowKey, key)
	}
	return b
}

func (w *chunkWriter) end(b, value []byte, size int, last bool) {
	if len(value) > 0 {
		b = append(appendLen(b, chunkValue, len(value)), value...)
	}
	b = appendInt(b, chunkValueSize, uint64(size))
	if last {
		b = appendInt(b, chunkCommitRow, 1)
	}
	*w.buf = b
}

// scanned notes that the read reached a row that it does not return.
func (w *chunkWriter) scanned(key string) error {
	if err := w.flush(); err != nil {
		return err
	}
	if err := w.ensure(); err != nil {
		return err
	}
	*w.buf = appendText(*w.buf, fieldLastScanned, key)
	return w.flush()
}

func (w *chunkWriter) flush() error {
	if w.buf == nil {
		return nil
	}
	m := codec.NewEncoded(w.buf)
	if err := w.hold.Message(0); err != nil { // the message counts as being sent now
		return err
	}
	w.buf, w.full = nil, min(w.full*4, codec.FullMessage)
	return w.send(m)
}

// The sizes of fields whose numbers are less than 16, so that their tags are one
// byte. Empty fields and zeros are left out.

func lenField(n int) int { return 1 + protowire.SizeVarint(uint64(n)) + n }

func textField(n int) int {
	if n == 0 {
		return 0
	}
	return lenField(n)
}

func intField(n uint64) int {
	if n == 0 {
		return 0
	}
	return 1 + protowire.SizeVarint(n)
}

func wrapperLen(n int) int { return textField(n) }

// appendLen begins a field of n bytes. Most have fewer than 128.
func appendLen(b []byte, field protowire.Number, n int) []byte {
	tag := byte(field)<<3 | byte(protowire.BytesType)
	if n < 0x80 {
		return append(b, tag, byte(n))
	}
	return protowire.AppendVarint(append(b, tag), uint64(n))
}

func appendText(b []byte, field protowire.Number, s string) []byte {
	return append(appendLen(b, field, len(s)), s...)
}

func appendInt(b []byte, field protowire.Number, n uint64) []byte {
	if n == 0 {
		return b
	}
	return protowire.AppendVarint(append(b, byte(field)<<3|byte(protowire.VarintType)), n)
}

// appendWrapper appends a StringValue or BytesValue, even an empty one.
func appendWrapper(b []byte, field protowire.Number, s string) []byte {
	b = appendLen(b, field, wrapperLen(len(s)))
	if s == "" {
		return b
	}
	return appendText(b, wrapped, s)
}
