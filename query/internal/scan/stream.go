package scan

import (
	"context"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
)

// A stream is the rows of one family, as a cursor's blocks hold them.
type stream struct {
	family   string
	store    string // the family's name in the store
	guard    bool   // its cells are for conditions
	required bool   // a row that the stream lacks is not returned
	oneOf    bool   // a row that all such streams lack is not returned
	cursor   cf.Cursor

	block *cf.Block // nil at the end
	row   int       // the current row in the block
	key   string    // its key

	counting bool         // the cursor counts cells and yields none
	counted  int          // cells of the row that was taken last
	room     *rowRoom     // of the row being taken
	spent    *[]*cf.Block // takes the blocks that have been read, if rows are lent
}

// load fetches the next block and moves to its first row.
func (s *stream) load(ctx context.Context) error {
	var err error
	s.leave()
	if s.block, err = s.cursor.Next(ctx); err != nil {
		s.block = nil
		return err
	}
	s.stand(0)
	return nil
}

// leave leaves the current block. The current row may still have cells in it.
func (s *stream) leave() {
	if s.spent != nil && s.block != nil {
		*s.spent = append(*s.spent, s.block)
	}
}

func (s *stream) stand(row int) {
	s.row = row
	if s.block != nil {
		s.key = s.block.RowKey(&s.block.Rows[row])
	}
}

// take adds the current row's cells to r, one part for each block with such cells, and
// moves to the next row.
func (s *stream) take(ctx context.Context, r *Row) error {
	s.counted = 0
	for {
		size, err := s.addPart(r)
		if err == nil {
			err = s.room.take(size, s.key)
		}
		if err != nil {
			return err
		}
		if more, err := s.step(ctx); !more || err != nil {
			return err
		}
	}
}

// pass moves to the next row.
func (s *stream) pass(ctx context.Context) error {
	for {
		if more, err := s.step(ctx); !more || err != nil {
			return err
		}
	}
}

// step moves on, and reports whether the row does so too, in a further block.
func (s *stream) step(ctx context.Context) (bool, error) {
	if s.row+1 < len(s.block.Rows) {
		s.stand(s.row + 1)
		return false, nil
	}
	if err := s.load(ctx); err != nil {
		return false, err
	}
	return s.block != nil && s.block.Continued, nil
}

// addPart adds the current row's cells in this block to r. size is the memory that they
// take.
func (s *stream) addPart(r *Row) (size int, err error) {
	if s.counting {
		s.counted += int(s.block.Rows[s.row].Len)
		r.parts = append(r.parts, part{family: s.family, block: s.block})
		return 0, nil
	}
	span := s.block.RowCells(&s.block.Rows[s.row])
	for i := range span {
		if err := cells.CheckEncoding(s.block.Value(&span[i])); err != nil {
			return 0, s.corrupt(&span[i], err)
		}
		size += cellBytes + int(span[i].QualifierLen) + int(span[i].ValueLen)
	}
	r.parts = append(r.parts, part{s.family, s.block, span})
	return size, nil
}

func (s *stream) corrupt(c *cf.CellSpan, err error) error {
	key := cf.AppendCellKey(nil, s.key, s.block.Qualifier(c), c.Timestamp)
	return &cf.CorruptCell{Family: s.store, Key: key, Err: err}
}
