package statement

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/humanize"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/transfer"
)

// Notes says what an import did, a line each; of a dry run only how the file was read, which
// [DryRun] leaves out.
func Notes(st *ql.Import, res *transfer.Result) (notes []string) {
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if text := writtenNote(st, res.Dialect); text != "" {
		note("%s", text)
	}
	if st.DryRun {
		return notes
	}
	if res.Before != 0 {
		note("%s was imported in this way at %s; nothing was done (again imports it once more)", st.Path, res.Before.Time().Format(time.RFC3339))
		return notes
	}
	what, unit := imported(res)
	note("imported %s in %s%s", what, humanize.Elapsed(res.Elapsed), rate(res.Records, unit, res.Elapsed))
	if res.Replaced > 0 {
		note("replaced %s by later lines of the file: the last one counts", humanize.Plural(res.Replaced, "cell"))
	}
	if res.BadLines > 0 {
		note("left out %s%s", humanize.Plural(res.BadLines, "bad line"), kept(st, res.BadLines))
	}
	if left := without(st, res); left != "" {
		note("left out %s", left)
	}
	exact := slices.DeleteFunc(slices.Clone(res.Numbers), func(f transfer.FieldReport) bool { return f.Near != cells.TypeAny })
	if len(exact) > 0 {
		note("%s: text whose values are all numbers; name the type to compute with them, as in %s", someColumns(exact), typedMapping(exact[0]))
	}
	near := slices.DeleteFunc(slices.Clone(res.Numbers), func(f transfer.FieldReport) bool { return f.Near == cells.TypeAny })
	if len(near) > 0 {
		first := near[0]
		first.Fits = first.Near
		note("%s: text whose values are all numbers; %s would write some otherwise, as %s; name the type to compute with them, as in %s",
			someColumns(near), first.Near, lex.QuoteText(first.Respelled), typedMapping(first))
	}
	return notes
}

// kept says where n bad lines are kept.
func kept(st *ql.Import, n int64) string {
	switch {
	case st.Bad == "":
		return ""
	case n == 1:
		return ", which is kept in " + lex.Escape(st.Bad)
	}
	return ", which are kept in " + lex.Escape(st.Bad)
}

// without says what an import leaves out for lack of a value; "": nothing.
func without(st *ql.Import, res *transfer.Result) string {
	var left []string
	if res.NoCells > 0 {
		left = append(left, humanize.Plural(res.NoCells, "line"))
	}
	if res.NoValue > 0 {
		left = append(left, humanize.Plural(res.NoValue, "element")+" of lists")
	}
	text := strings.Join(left, " and ")
	if text == "" {
		return ""
	}
	if text += " without a value"; !st.KeepEmpty {
		text += " (keep-empty keeps empty text)"
	}
	return text
}

// someColumns names the first few columns.
func someColumns(fields []transfer.FieldReport) string {
	var names []string
	for _, f := range fields[:min(5, len(fields))] {
		names = append(names, lex.QuoteColumn(f.Family, f.Qualifier))
	}
	if more := len(fields) - len(names); more > 0 {
		names = append(names, fmt.Sprint(more, " more"))
	}
	return strings.Join(names, ", ")
}

func typedMapping(f transfer.FieldReport) string {
	return ql.Mapping{Column: ql.Column{Family: f.Family, Qualifier: f.Qualifier}, Field: f.Field, Type: f.Fits}.String()
}

// writtenNote says what an import saw of how its file is written; "": nothing new.
func writtenNote(st *ql.Import, d transfer.Dialect) string {
	all := seen(st.Written, d)
	if tabs := st.As == "tsv" || strings.HasSuffix(strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(st.Path, ".gz"), ".zst")), ".tsv"); tabs && st.Written.Separator == "" {
		all.Separator, all.Quote = "", ""
	}
	text := all.String()
	if text == st.Written.String() {
		return ""
	}
	return st.Path + " was read with " + text
}

// imported says what was imported, and from how many lines if a line is not a row. unit
// is the unit of the speed.
func imported(res *transfer.Result) (what, unit string) {
	what = humanize.Plural(res.Rows, "row") + ", " + humanize.Plural(res.Cells, "cell")
	if res.Records == res.Rows {
		return what, "rows"
	}
	return what + " from " + humanize.Plural(res.Records, "line"), "lines"
}

func rate(n int64, unit string, took time.Duration) string {
	if took < time.Millisecond {
		return ""
	}
	return " (" + humanize.Thousands(int64(float64(n)/took.Seconds())) + " " + unit + "/s)"
}

// Exported says what an export did.
func Exported(res *transfer.ExportResult) string {
	return fmt.Sprintf("exported %s, %s, %s in %s%s", humanize.Plural(res.Rows, "row"), humanize.Plural(res.Cells, "cell"), humanize.Size(res.Bytes), humanize.Elapsed(res.Elapsed), rate(res.Rows, "rows", res.Elapsed))
}
