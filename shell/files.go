package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/osfile"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/exec"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/transfer"
)

// expand replaces ~ at the beginning of the paths of a statement, as far as they are of
// this machine.
func (s *Session) expand(st ql.Statement) error {
	var paths []*string
	switch st := st.(type) {
	case *ql.Import:
		paths = []*string{&st.Path, &st.Bad}
	case *ql.Export:
		paths = []*string{&st.To}
	case *ql.Backup:
		paths = s.ofOperator(&st.To)
	case *ql.Backups:
		paths = s.ofOperator(&st.In)
	case *ql.Verify:
		paths = s.ofOperator(&st.In)
	case *ql.Checkpoint:
		paths = s.ofOperator(&st.Dir)
	case *ql.Restore:
		paths = []*string{&st.From, &st.To}
	case *ql.RestoreTable:
		paths = s.ofOperator(&st.From)
	}
	for _, path := range paths {
		var err error
		if *path, err = osfile.Home(*path); err != nil {
			return err
		}
	}
	return nil
}

// ofOperator returns a path if this process resolves it, and not a server.
func (s *Session) ofOperator(path *string) []*string {
	if s.opt.Remote != nil {
		return nil
	}
	return []*string{path}
}

// progress returns the writer for progress bars; nil: no bars.
func (s *Session) progress() io.Writer {
	if s.opt.ErrTerminal && !s.opt.Quiet {
		return s.opt.Err
	}
	return nil
}

func (s *Session) exportFile(ctx context.Context, st *ql.Export, opts []read.Option) (exec.Result, error) {
	spec := transfer.ExportSpec{Path: st.To, Format: st.As, Bytes: st.Bytes, Wide: mappings(st.Wide), AllWide: st.AllWide, Options: opts, Overwrite: st.Overwrite, Progress: s.progress()}
	if st.To == "-" {
		spec.Out = s.out
	}
	res, err := s.export(ctx, st.Table.Text, spec)
	if spec.Out != nil && errors.Is(err, syscall.EPIPE) {
		err = ErrOutputClosed
	}
	if err != nil {
		return nil, err
	}
	s.note("exported %s, %s, %s in %s%s", plural(res.Rows, "row"), plural(res.Cells, "cell"), size(res.Bytes), elapsed(res.Elapsed), rate(res.Rows, "rows", res.Elapsed))
	return &exec.Done{}, nil
}

func (s *Session) export(ctx context.Context, table string, spec transfer.ExportSpec) (transfer.ExportResult, error) {
	if s.opt.Remote == nil {
		return transfer.Export(ctx, s.db, table, spec)
	}
	t, _ := s.opt.Remote.LookupTable(table)
	return transfer.ExportFrom(ctx, s.opt.Remote.Table(table), t, spec)
}

// load reads a file into a table.
func (s *Session) load(ctx context.Context, table string, spec transfer.Spec) (transfer.Result, error) {
	if s.opt.Remote == nil {
		return transfer.Import(ctx, s.db, table, spec)
	}
	t, _ := s.opt.Remote.LookupTable(table)
	return transfer.ImportInto(ctx, s.opt.Remote.Table(table), t, spec)
}

// ImportSpec is an import statement as transfer's request. Its streams are to be set.
func ImportSpec(st *ql.Import) transfer.Spec {
	if st == nil {
		return transfer.Spec{}
	}
	return transfer.Spec{
		Path: st.Path, Format: st.As, Key: st.Key, Columns: templated(mappings(st.Columns)), Timestamp: st.Timestamp, NA: st.NA, KeepEmpty: st.KeepEmpty,
		BadLines: st.BadLines, Batch: st.Batch, Again: st.Again, Overlap: st.Overlap, DryRun: st.DryRun,
		Bad: st.Bad, Encoding: st.Written.Encoding, Dialect: dialect(st.Written),
	}
}

// importFile runs an import statement. Bad lines, the progress bar and the summary go
// to Err.
func (s *Session) importFile(ctx context.Context, st *ql.Import) (exec.Result, error) {
	spec := ImportSpec(st)
	spec.Warn, spec.Progress = s.opt.Err, s.progress()
	if st.Path == "-" {
		if s.reads || s.opt.Interactive {
			return nil, errors.New("the statements come from the standard input; to import from it, give them with -c or -f")
		}
		spec.Path, spec.In = Stdin, s.opt.In
	}
	res, err := s.load(ctx, st.Table.Text, spec)
	if form := (*transfer.FormError)(nil); errors.As(err, &form) {
		return s.proposeImport(ctx, st, form)
	}
	if err != nil {
		s.imported = int(res.Rows)
		return nil, err
	}
	if st.DryRun {
		if note := writtenNote(st, res.Dialect); note != "" {
			s.note("%s", note)
		}
		return DryRun(st, &res), nil
	}
	for _, note := range ImportNotes(st, &res) {
		s.note("%s", note)
	}
	return &exec.Done{}, nil
}

// ImportNotes says what an import did, a line each.
func ImportNotes(st *ql.Import, res *transfer.Result) (notes []string) {
	if st == nil || res == nil {
		return nil
	}
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if text := writtenNote(st, res.Dialect); text != "" {
		note("%s", text)
	}
	if res.Before != 0 {
		note("%s was imported in this way at %s; nothing was done (again imports it once more)", st.Path, res.Before.Time().Format(time.RFC3339))
		return notes
	}
	what, unit := imported(res)
	note("imported %s in %s%s", what, elapsed(res.Elapsed), rate(res.Records, unit, res.Elapsed))
	if res.Replaced > 0 {
		note("replaced %s by later lines of the file: the last one counts", plural(res.Replaced, "cell"))
	}
	if res.BadLines > 0 {
		note("left out %s%s", plural(res.BadLines, "bad line"), kept(st, res.BadLines))
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
		left = append(left, plural(res.NoCells, "line"))
	}
	if res.NoValue > 0 {
		left = append(left, plural(res.NoValue, "element")+" of lists")
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

// DryRun lists the columns that an import would make, or the fields of its file.
func DryRun(st *ql.Import, res *transfer.Result) *exec.Listing {
	if st == nil || res == nil {
		return nil
	}
	what, _ := imported(res)
	note := "would import " + what
	l := &exec.Listing{Columns: []string{"column", "type", "fits", "values", "example"}}
	if fields := len(res.Fields) > 0 && res.Fields[0].Field != ""; fields {
		l.Columns = []string{"field", "fits", "values", "example"}
		note = plural(res.Records, "line") + "; to import them, give key= and columns=, as in key='{" + lex.Escape(res.Fields[0].Field) + "}' columns=" + suggested(res.Fields)
	}
	for _, f := range res.Fields {
		fits := exec.Word(f.Fits.String())
		if f.Field != "" {
			if f.Fits == cells.TypeAny {
				fits = "-"
			}
			name := f.Field
			if f.Many {
				name += ".*"
			}
			l.Lines = append(l.Lines, []any{exec.Word(name), fits, f.Values, example(f)})
			continue
		}
		column := lex.QuoteColumn(f.Family, f.Qualifier)
		if f.Many {
			column += "*"
		}
		l.Lines = append(l.Lines, []any{column, exec.Word(f.Type.String()), fits, f.Values, example(f)})
	}
	if res.BadLines > 0 {
		note += "; left out " + plural(res.BadLines, "bad line")
	}
	if left := without(st, res); left != "" {
		note += "; " + left
	}
	l.Notes = []string{note}
	if text := respelled(res.Fields); text != "" {
		l.Notes = append(l.Notes, text)
	}
	return l
}

// respelled names some fields that a narrower type would take with their values, though not
// as they are written.
func respelled(fields []transfer.FieldReport) string {
	const most = 3
	var list []string
	for _, f := range fields {
		if f.Near == cells.TypeAny {
			continue
		}
		name := f.Field
		if name == "" {
			name = lex.QuoteColumn(f.Family, f.Qualifier)
		}
		list = append(list, fmt.Sprintf("%s as %s (%s)", name, f.Near, lex.QuoteText(f.Respelled)))
	}
	if len(list) == 0 {
		return ""
	}
	if more := len(list) - most; more > 0 {
		list = append(list[:most], fmt.Sprint(more, " more"))
	}
	return "these would keep their values, and some would be written otherwise: " + strings.Join(list, ", ")
}

func example(f transfer.FieldReport) cells.Value {
	return cells.String(strings.ToValidUTF8(f.Example, "\uFFFD"))
}

// suggested is columns= for the first fields, and for an object with many members.
func suggested(fields []transfer.FieldReport) string {
	var list []string
	for i, f := range fields[min(1, len(fields)-1):] {
		if f.Many {
			return strings.Join(append(list, "FAMILY:*="+lex.QuoteText(f.Field)), ",")
		}
		if f.Fits == cells.TypeAny || i >= 3 {
			continue
		}
		name := lex.QuoteKey(f.Field)
		if strings.Contains(f.Field, ":") {
			name = lex.QuoteText(f.Field)
		}
		qualifier := f.Field[strings.LastIndexByte(f.Field, '.')+1:]
		if text := "FAMILY:" + lex.QuoteQualifier(qualifier) + "=" + name; f.Fits == cells.TypeString {
			list = append(list, text)
		} else {
			list = append(list, text+":"+f.Fits.String())
		}
	}
	return strings.Join(list, ",")
}

func mappings(list []ql.Mapping) (mapped []transfer.Mapping) {
	for _, m := range list {
		mapped = append(mapped, transfer.Mapping{Family: m.Column.Family, Qualifier: m.Column.Qualifier, Field: m.Field, Type: m.Type, All: m.Column.Kind == ql.ColumnFamily})
	}
	return mapped
}

// templated makes templates of qualifiers with braces, as of an import's key.
func templated(list []transfer.Mapping) []transfer.Mapping {
	for i := range list {
		if m := &list[i]; strings.ContainsAny(m.Qualifier, "{}") {
			m.Template = m.Qualifier
		}
	}
	return list
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
