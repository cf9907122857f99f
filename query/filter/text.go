package filter

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/cells"
)

// A filter as text is part of the tokens of pages: it must not change.

func (f Chain) String() string      { return "chain" + list(f...) }
func (f Interleave) String() string { return "interleave" + list(f...) }
func (f Condition) String() string  { return "condition" + list(f.If, f.Then, f.Else) }

func list(fs ...Filter) string {
	texts := make([]string, len(fs))
	for i, f := range fs {
		if texts[i] = "nil"; f != nil {
			texts[i] = f.String()
		}
	}
	return "(" + strings.Join(texts, ", ") + ")"
}

func (PassAll) String() string    { return "pass_all" }
func (BlockAll) String() string   { return "block_all" }
func (Sink) String() string       { return "sink" }
func (StripValue) String() string { return "strip_value" }

func (f Label) String() string  { return quoted("label", string(f)) }
func (f RowKey) String() string { return quoted("row_key_regex", string(f)) }
func (f Family) String() string { return quoted("family_name_regex", string(f)) }
func (f Column) String() string { return quoted("column_qualifier_regex", string(f)) }
func (f Value) String() string  { return quoted("value_regex", string(f)) }

func quoted(name, arg string) string { return name + "(" + strconv.Quote(arg) + ")" }

func (f RowSample) String() string {
	return "row_sample(" + strconv.FormatFloat(float64(f), 'g', -1, 64) + ")"
}

func (f ColumnRange) String() string {
	return "column_range(" + strconv.Quote(f.Family) + ", " + rangeText(f.From, f.To) + ")"
}

func (f ValueRange) String() string   { return "value_range(" + rangeText(f.From, f.To) + ")" }
func (f ValueBitmask) String() string { return quoted("value_bitmask", string(f)) }

func (f ValueCompare) String() string {
	text := f.Value.String()
	if f.Value.Type() == cells.TypeString {
		text = strconv.Quote(text)
	}
	return fmt.Sprintf("value %s %s %s", f.Op, f.Value.Type(), text)
}

func (f TimestampRange) String() string {
	return fmt.Sprintf("timestamp_range(%d, %d)", f.Since, f.Until)
}

func (f CellsPerRowOffset) String() string { return counted("cells_per_row_offset", int(f)) }
func (f CellsPerRowLimit) String() string  { return counted("cells_per_row_limit", int(f)) }
func (f Latest) String() string            { return counted("cells_per_column_limit", int(f)) }

func counted(name string, n int) string { return name + "(" + strconv.Itoa(n) + ")" }
