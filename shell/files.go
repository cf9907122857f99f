package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/ql"
	"github.com/smolwc/smolwc/query/ql/exec"
	"github.com/smolwc/smolwc/query/ql/lex"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/transfer"
)

// outside runs the statements about files and backups. Progress bars and summaries go
// to Err.
func (s *Session) outside(ctx context.Context, st ql.Statement, opts []read.Option) (exec.Result, error) {
	switch st := st.(type) {
	case *ql.Import:
		return s.importFile(ctx, st)
	case *ql.Export:
		return s.exportFile(ctx, st, opts)
	case *ql.Backup:
		return s.backup(ctx, st)
	case *ql.Backups:
		return s.backups(ctx, st)
	case *ql.Restore:
		return s.restore(ctx, st)
	case *ql.Verify:
		return s.verify(ctx, st)
	case *ql.Checkpoint:
		err := s.operator().Checkpoint(ctx, st.Dir)
		return &exec.Done{Message: "copied the database to " + st.Dir}, copied(err, "checkpoint", st.Dir)
	}
	return nil, fmt.Errorf("no way to run %T", st)
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

// operator returns the maker of backups of the session's database.
func (s *Session) operator() operator {
	if s.opt.Remote != nil {
		return s.opt.Remote
	}
	return archive.Local{DB: s.db}
}

// copied adds a hint to the read-only error of a database that another process has
// open: the command with which that process does the work.
func copied(err error, words ...string) error {
	if errors.Is(err, query.ErrReadOnly) {
		return fmt.Errorf("%w; %s", err, Served(words...))
	}
	return err
}

// Served returns the command that makes a server do the work on a database that it has
// open. Paths among the words should be absolute.
func Served(words ...string) string {
	command := "smolwc"
	for _, w := range words {
		if strings.ContainsFunc(w, unsafeInShell) {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		command += " " + w
	}
	return "if smolwc serve has it open, let the server do it: " + command + " --addr " + usualAddr
}

// usualAddr is the default address of smolwc serve.
const usualAddr = "127.0.0.1:8086"

// unsafeInShell reports whether a character may be special to the system's shell.
func unsafeInShell(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/.:_-+=@%", r)
}

func (s *Session) travel(t ql.Travel) archive.Options {
	return archive.Options{Parallel: t.Parallel, Rate: t.Rate, Progress: s.progress()}
}

func (s *Session) backup(ctx context.Context, st *ql.Backup) (exec.Result, error) {
	res, err := s.operator().BackUp(ctx, st.To, archive.BackupOptions{Options: s.travel(st.Travel), Keep: st.Keep})
	if res.ID == 0 {
		return nil, copied(err, "backup", st.To)
	}
	s.note("backed up as %d: %s, %s (%s sent) in %s", res.ID, plural(res.Files, "file"), size(res.Size), size(res.SentBytes), elapsed(res.Elapsed))
	if p := res.Pruned; p.Generations > 0 || p.Objects > 0 {
		s.note("pruned %s, which gave back %s", plural(p.Generations, "backup"), size(p.Bytes))
	}
	if err != nil {
		return nil, err
	}
	return listBackups([]archive.Generation{res.Generation}), nil
}

func (s *Session) backups(ctx context.Context, st *ql.Backups) (exec.Result, error) {
	all, err := s.operator().ListBackups(ctx, st.In)
	if err != nil {
		return nil, err
	}
	for _, g := range all {
		if g.Damaged != "" {
			s.note("%s", lex.Escape(g.Damaged))
		}
	}
	return listBackups(all), nil
}

// listBackups has a line for each backup. For a backup with a damaged manifest it has
// only the number.
func listBackups(all []archive.Generation) *exec.Listing {
	l := &exec.Listing{Columns: []string{"backup", "time", "bytes", "new_bytes", "files", "state"}}
	for _, g := range all {
		if g.Damaged != "" {
			l.Lines = append(l.Lines, []any{int64(g.ID), "", "", "", "", "damaged"})
			continue
		}
		l.Lines = append(l.Lines, []any{int64(g.ID), g.Time.UTC().Format(time.RFC3339), g.Size, g.NewBytes, int64(g.Files), "ok"})
	}
	return l
}

func (s *Session) restore(ctx context.Context, st *ql.Restore) (exec.Result, error) {
	if strings.Contains(st.To, "://") {
		return nil, fmt.Errorf("restore: it makes a database in a directory; smolwc copy brings that to %s", st.To)
	}
	from, err := archive.Local{DB: s.db}.Target(ctx, st.From)
	if err != nil {
		return nil, err
	}
	a, err := archive.Open(ctx, from)
	if err != nil {
		return nil, err
	}
	res, err := a.Restore(ctx, st.Generation, st.To, archive.RestoreOptions{Options: s.travel(st.Travel), Overwrite: st.Overwrite})
	if err != nil {
		return nil, err
	}
	s.note("restored backup %d of %s to %s: %s, %s, in %s", res.ID, lex.FormatTimestamp(cells.TimestampOf(res.Time), nil), st.To, plural(res.Files, "file"), size(res.Size), elapsed(res.Elapsed))
	return &exec.Done{}, nil
}

func (s *Session) verify(ctx context.Context, st *ql.Verify) (exec.Result, error) {
	res, err := s.operator().VerifyBackups(ctx, st.In, s.travel(st.Travel))
	if len(res.Damage) > 1 {
		for _, d := range res.Damage {
			s.note("%s", lex.Escape(d.Error()))
		}
	}
	if err != nil {
		return nil, err
	}
	s.note("verified %s: %s, %s, in %s", plural(res.Generations, "backup"), plural(res.Objects, "file"), size(res.Bytes), elapsed(res.Elapsed))
	return &exec.Done{}, nil
}

func size(n int64) string {
	const units = "kMGTPE"
	if n < 1000 {
		return plural(n, "byte")
	}
	f, unit := float64(n), 0
	for f /= 1000; f >= 999.5 && unit < len(units)-1; f /= 1000 {
		unit++
	}
	return fmt.Sprintf("%.3g %cB", f, units[unit])
}

// importFile runs an import statement. Bad lines, the progress bar and the summary go
// to Err.
func (s *Session) importFile(ctx context.Context, st *ql.Import) (exec.Result, error) {
	spec := transfer.Spec{
		Path: st.Path, Format: st.As, Key: st.Key, Columns: mappings(st.Columns), Timestamp: st.Timestamp, NA: st.NA,
		BadLines: st.BadLines, Batch: st.Batch, Again: st.Again, Overlap: st.Overlap, DryRun: st.DryRun, Warn: s.opt.Err, Progress: s.progress(),
	}
	if st.Path == "-" {
		if s.reads || s.opt.Interactive {
			return nil, errors.New("the statements come from the standard input; to import from it, give them with -c or -f")
		}
		spec.Path, spec.In = Stdin, s.opt.In
	}
	res, err := s.load(ctx, st.Table.Text, spec)
	if err != nil {
		s.imported = int(res.Rows)
		return nil, err
	}
	if st.DryRun {
		return dryRun(st, &res), nil
	}
	if res.Before != 0 {
		s.note("%s was imported in this way at %s; nothing was done (again imports it once more)", st.Path, res.Before.Time().Format(time.RFC3339))
		return &exec.Done{}, nil
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
	return &exec.Done{}, nil
}

// dryRun lists the columns that an import would make, or the fields of its file.
func dryRun(st *ql.Import, res *transfer.Result) *exec.Listing {
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
			l.Lines = append(l.Lines, []any{exec.Word(f.Field), fits, f.Values, example(f)})
			continue
		}
		l.Lines = append(l.Lines, []any{lex.QuoteColumn(f.Family, f.Qualifier), exec.Word(f.Type.String()), fits, f.Values, example(f)})
	}
	if res.BadLines > 0 {
		note += "; left out " + plural(res.BadLines, "bad line")
	}
	if res.NoCells > 0 {
		note += "; " + plural(res.NoCells, "line") + " without a value"
	}
	l.Notes = []string{note}
	return l
}

func example(f transfer.FieldReport) cells.Value {
	return cells.String(strings.ToValidUTF8(f.Example, "\uFFFD"))
}

// suggested is columns= for the first fields.
func suggested(fields []transfer.FieldReport) string {
	var list []string
	for _, f := range fields[min(1, len(fields)-1):min(4, len(fields))] {
		if f.Fits == cells.TypeAny {
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
