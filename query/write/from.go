package write

import (
	"fmt"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/internal/tags"
)

// From makes a mutation that sets the columns which the tags of a struct name, and returns
// the row key beside it; query.Row.Into describes the tags. v is a struct or a pointer to one.
//
//	key, m, err := write.From(plane)
//	if err == nil {
//		err = table.Apply(ctx, key, m)
//	}
//
// Each field with a tag is written, a zero too, as its type in Go. A nil pointer, map or
// []byte and a zero [cells.Value] stand for no cell: they neither write nor delete one. So
// read all columns of a struct that is written back, or make them pointers. A timestamp of
// 0 is left to the database's clock. A slice of versions must be of [cells.Cell], whose
// timestamps count; their families and qualifiers do not.
//
// Without a field for the key, key is "". The mutation refers to the memory of v.
func From(v any) (key string, m *Mutation, err error) {
	m = NewMutation()
	key, err = tags.Save(v, func(family, qualifier string, at cells.Timestamp, value cells.Value) {
		if at == 0 {
			m.Set(family, qualifier, value)
		} else {
			m.SetAt(family, qualifier, at, value)
		}
	})
	if err != nil {
		return "", nil, fmt.Errorf("make a mutation: %w", err)
	}
	return key, m, nil
}
