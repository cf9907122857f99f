package shell

import (
	"context"
	"time"

	"github.com/smolwc/smolwc/query/ql"
	"github.com/smolwc/smolwc/transfer"
)

// importFile runs an import statement. Bad lines, the progress bar and the summary go
// to Err.
func (s *Session) importFile(ctx context.Context, st *ql.Import) (string, error) {
	spec := transfer.Spec{
		Path: st.Path, Key: st.Key, Columns: mappings(st.Columns), Timestamp: st.Timestamp, NA: st.NA,
		BadLines: st.BadLines, Batch: st.Batch, Again: st.Again, Overlap: st.Overlap, Warn: s.opt.Err, Progress: s.progress(),
	}
	res, err := transfer.Import(ctx, s.db, st.Table.Text, spec)
	if err != nil {
		s.imported = int(res.Rows)
		return "", err
	}
	if res.Before != 0 {
		s.note("%s was imported in this way at %s; nothing was done (again imports it once more)", st.Path, res.Before.Time().Format(time.RFC3339))
		return "", nil
	}
	what, unit := imported(&res)
	s.note("imported %s in %s%s", what, elapsed(res.Elapsed), rate(res.Records, unit, res.Elapsed))
	if res.Replaced > 0 {
		s.note("replaced %s that come again in the file: the last one counts", plural(res.Replaced, "cell"))
	}
	if res.BadLines > 0 {
		s.note("left out %s", plural(res.BadLines, "bad line"))
	}
	if res.NoCells > 0 {
		s.note("left out %s without a value", plural(res.NoCells, "line"))
	}
	return "", nil
}

func mappings(list []ql.Mapping) (mapped []transfer.Mapping) {
	for _, m := range list {
		mapped = append(mapped, transfer.Mapping{Family: m.Column.Family, Qualifier: m.Column.Qualifier, Field: m.Field, Type: m.Type})
	}
	return mapped
}

// imported says what was imported, and from how many lines if a line is not a row. unit
// is the unit of the speed.
func imported(res *transfer.Result) (what, unit string) {
	what = plural(res.Rows, "row") + ", " + plural(res.Cells, "cell")
	if res.Records == res.Rows {
		return what, "rows"
	}
	return what + " from " + plural(res.Records, "line"), "lines"
}

func rate(n int64, unit string, took time.Duration) string {
	if took < time.Millisecond {
		return ""
	}
	return " (" + thousands(int64(float64(n)/took.Seconds())) + " " + unit + "/s)"
}
