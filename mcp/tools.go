package mcp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/branch"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql"
	"github.com/smolwc/smolwc/sql/value"
)

type nothing struct{}

// A listed is a table or view in a list.
type listed struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"`
	Rows  *int64 `json:"rows,omitempty"`
	Bytes *int64 `json:"bytes,omitempty"`
	Exact bool   `json:"exact,omitempty"`
}

type listing struct {
	Tables []listed `json:"tables"`
	Note   string   `json:"note,omitempty"`
}

func (s *server) listTables(ctx context.Context, _ nothing) (any, error) {
	seen, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	out := listing{Tables: []listed{}, Note: "rows and bytes are estimates, rather too high, unless exact is true; a view has the figures of what a query of all of it reads"}
	n := int64(min(max(len(seen), 1), maxListed))
	share := sql.Budget{Rows: max(s.Budget.Rows/n, 1), Bytes: max(s.Budget.Bytes/n, 1)} // of the reads of an estimate
	for i, e := range seen {
		l := listed{Name: e.name, Kind: e.kind}
		if i < maxListed {
			if a, err := s.all(ctx, e.name, share); err == nil {
				l.Rows, l.Bytes, l.Exact = &a.estimate.Rows, &a.estimate.Bytes, a.estimate.Exact
			} else if ctx.Err() != nil {
				return nil, err
			}
		}
		out.Tables = append(out.Tables, l)
	}
	return out, nil
}

// all explains a query of everything in a table or view, within a budget.
func (s *server) all(ctx context.Context, name string, b sql.Budget) (*answer, error) {
	text := "SELECT * FROM " + quoted(name)
	q, err := sql.Parse(text)
	if err != nil {
		return nil, err
	}
	return s.at.query(ctx, q, text, b, true)
}

func quoted(name string) string {
	return "`" + strings.NewReplacer("\\", `\\`, "`", "\\`").Replace(name) + "`"
}

type describeIn struct {
	Name string `json:"name" jsonschema:"a table or view"`
}

type family struct {
	Name      string `json:"name"`
	Type      string `json:"type"`
	Aggregate string `json:"aggregate,omitempty"`
	Keeps     string `json:"keeps"`
}

type described struct {
	Name      string   `json:"name"`
	Kind      string   `json:"kind"`
	KeyFormat string   `json:"key_format,omitempty"`
	Families  []family `json:"families,omitempty"`
	Columns   []column `json:"columns,omitempty"`
	SQL       string   `json:"sql,omitempty"`
	Example   any      `json:"example,omitempty"`
	Note      string   `json:"note,omitempty"`
}

func (s *server) describe(ctx context.Context, in describeIn) (any, error) {
	e, err := s.find(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	d := described{Name: e.name, Kind: e.kind}
	if e.table == nil {
		return s.describeView(ctx, e, d)
	}
	if e.table.KeyFormat != schema.PlainKeys {
		d.KeyFormat = e.table.KeyFormat.String()
	}
	for i := range e.table.Families {
		f := &e.table.Families[i]
		of := family{Name: f.Name, Type: f.Type.String(), Keeps: "everything"}
		if f.GC != nil {
			of.Keeps = f.GC.String()
		}
		if f.Aggregate != 0 {
			of.Aggregate = f.Aggregate.String()
		}
		d.Families = append(d.Families, of)
	}
	found, err := s.read(ctx, e.name, 1, false)
	if err == nil && len(found.Rows) > 0 {
		d.Example = found.Rows[0]
	}
	if err == nil && len(found.Rows) == 0 {
		d.Note = found.Note
	}
	return d, err
}

func (s *server) describeView(ctx context.Context, e entry, d described) (any, error) {
	if len(s.Names) == 0 { // it names other tables
		d.SQL = e.sql
	}
	out, err := s.run(ctx, "SELECT * FROM "+quoted(e.name)+" LIMIT 1", 1)
	switch {
	case err == nil:
		d.Columns = out.Columns
		if len(out.Rows) > 0 {
			d.Example = out.Rows[0]
		}
	case query.KindOf(err) == query.KindResourceExhausted:
		d.Note = "no example: " + err.Error()
	default:
		return nil, err
	}
	return d, nil
}

type queryIn struct {
	SQL   string `json:"sql" jsonschema:"one query: SELECT, FROM or WITH"`
	Limit *int   `json:"limit,omitempty" jsonschema:"rows of the result, 1 to 1000; 100 without it"`
}

type column struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

type amount struct {
	Rows  int64 `json:"rows"`
	Bytes int64 `json:"bytes"`
}

type queried struct {
	Columns []column `json:"columns"`
	Rows    [][]any  `json:"rows"`
	Cut     bool     `json:"cut"`
	Note    string   `json:"note,omitempty"`
	Read    *amount  `json:"read,omitempty"`
}

func (s *server) query(ctx context.Context, in queryIn) (any, error) {
	limit, err := limitOf(in.Limit)
	if err != nil {
		return nil, err
	}
	return s.run(ctx, in.SQL, limit)
}

func limitOf(n *int) (int, error) {
	switch {
	case n == nil:
		return fewRows, nil
	case *n < 1 || *n > maxRows:
		return 0, fmt.Errorf("limit is %d; it can be 1 to %d", *n, maxRows)
	}
	return *n, nil
}

// parse reads a query whose tables exist for the caller.
func (s *server) parse(ctx context.Context, text string) (*sql.Query, error) {
	if len(text) > maxQuery {
		return nil, fmt.Errorf("the query has %d bytes; it can have %d", len(text), maxQuery)
	}
	q, err := sql.Parse(text)
	if err != nil {
		return nil, err
	}
	if q.Explains() {
		return nil, errors.New("EXPLAIN is the tool explain; give it only the query")
	}
	if len(s.Names) > 0 {
		for _, name := range q.Tables() {
			if !s.visible(name) {
				return nil, q.TableNotFound(name, s.Names)
			}
		}
		if err := s.sound(ctx, q); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// run runs a query, up to a number of rows.
func (s *server) run(ctx context.Context, text string, limit int) (*queried, error) {
	q, err := s.parse(ctx, text)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a, err := s.at.query(ctx, q, text, s.Budget, false)
	if err != nil {
		return nil, s.veilRead(ctx, q, err)
	}
	out := &queried{Rows: [][]any{}}
	for i, c := range a.Columns {
		name := c.Name
		if name == "" {
			name = fmt.Sprintf("f%d_", i)
		}
		out.Columns = append(out.Columns, column{name, c.Type.String()})
	}
	size := 0
	for row, err := range a.Rows {
		if err != nil {
			return nil, s.veilRow(ctx, q, err)
		}
		if len(out.Rows) == limit {
			out.Cut, out.Note = true, fmt.Sprintf("cut after %d rows: there are more", limit)
			break
		}
		if value.Size(value.Array(row)) > largeRow {
			out.Cut, out.Note = true, cutNote(len(out.Rows))
			break
		}
		line := make([]any, len(row))
		for i, v := range row {
			line[i] = jsonOf(v, a.Columns[i].Type)
		}
		n, err := sizeOf(line)
		if err != nil {
			return nil, err
		}
		if size += n; size > maxResult {
			out.Cut, out.Note = true, cutNote(len(out.Rows))
			break
		}
		out.Rows = append(out.Rows, line)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if spent, ok := a.spent(); ok && !s.behind(ctx, q) {
		out.Read = &amount{spent.Rows, spent.Bytes}
	}
	return out, nil
}

func cutNote(rows int) string {
	return fmt.Sprintf("cut after %d rows: the result is larger than %s; ask for fewer columns or rows", rows, schema.FormatSize(maxResult))
}

type explainIn struct {
	SQL string `json:"sql" jsonschema:"one query: SELECT, FROM or WITH"`
}

type estimated struct {
	Rows  int64 `json:"rows"`
	Bytes int64 `json:"bytes"`
	Exact bool  `json:"exact"`
}

type explained struct {
	*estimated
	Budget amount   `json:"budget"`
	Runs   bool     `json:"within_budget"`
	Steps  []string `json:"steps,omitempty"`
}

func (s *server) explain(ctx context.Context, in explainIn) (any, error) {
	q, err := s.parse(ctx, in.SQL)
	if err != nil {
		return nil, err
	}
	a, err := s.at.query(ctx, q, in.SQL, s.Budget, true)
	if err != nil {
		return nil, s.veil(ctx, err)
	}
	out := explained{&estimated{a.estimate.Rows, a.estimate.Bytes, a.estimate.Exact}, amount{s.Budget.Rows, s.Budget.Bytes}, !s.Budget.Over(a.estimate), a.steps}
	if len(s.Names) > 0 { // steps name the tables of views
		out.Steps = nil
	}
	if s.behind(ctx, q) {
		out.estimated = nil
	}
	return out, nil
}

type readIn struct {
	Table   string   `json:"table"`
	Key     any      `json:"key,omitempty" jsonschema:"the row with this key: a string, or {\"base64\": \"…\"}"`
	Prefix  any      `json:"prefix,omitempty" jsonschema:"rows whose keys begin so"`
	Start   any      `json:"start,omitempty" jsonschema:"rows from this key on"`
	Columns []string `json:"columns,omitempty" jsonschema:"family or family:qualifier; all without it"`
	Limit   *int     `json:"limit,omitempty" jsonschema:"rows, 1 to 1000; 100 without it"`
}

type cell struct {
	Family    string `json:"family"`
	Qualifier any    `json:"qualifier"`
	Type      string `json:"type"`
	Value     any    `json:"value"`
	Time      string `json:"time"`
}

type row struct {
	Key   any    `json:"key"`
	Cells []cell `json:"cells"`
}

type found struct {
	Rows []row   `json:"rows"`
	Cut  bool    `json:"cut"`
	Note string  `json:"note,omitempty"`
	Read *amount `json:"read"`
}

func (s *server) readRows(ctx context.Context, in readIn) (any, error) {
	limit, err := limitOf(in.Limit)
	if err != nil {
		return nil, err
	}
	var opts []read.Option
	given := 0
	for _, bound := range []struct {
		name string
		v    any
		of   func(string) read.Option
	}{
		{"key", in.Key, func(key string) read.Option { return read.Key(key) }},
		{"prefix", in.Prefix, func(p string) read.Option { return read.Prefix(p) }},
		{"start", in.Start, func(start string) read.Option { return read.Range(start, "") }},
	} {
		if bound.v == nil {
			continue
		}
		text, err := textOf(bound.name, bound.v)
		if err != nil {
			return nil, err
		}
		opts = append(opts, bound.of(text))
		given++
	}
	if given > 1 {
		return nil, errors.New("give one of key, prefix and start")
	}
	for _, c := range in.Columns {
		family, qualifier, one := strings.Cut(c, ":")
		if one {
			opts = append(opts, read.Column(family, qualifier))
		} else {
			opts = append(opts, read.Family(family))
		}
	}
	e, err := s.find(ctx, in.Table)
	if err != nil {
		return nil, err
	}
	if e.table == nil {
		return nil, fmt.Errorf("%s is a %s; the tool query reads it", e.name, e.kind)
	}
	return s.read(ctx, e.name, limit, len(in.Columns) > 0, opts...)
}

func hasCells(r *query.Row) bool {
	for range r.Cells() {
		return true
	}
	return false
}

// read reads rows of a table, up to a number. narrow says that the options name columns.
func (s *server) read(ctx context.Context, table string, limit int, narrow bool, opts ...read.Option) (*found, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out := &found{Rows: []row{}, Read: &amount{}}
	size := 0
	most := min(int64(limit), s.Budget.Rows)
	if narrow { // rows without the columns count too, and come without cells
		most = min(s.Budget.Rows, math.MaxInt32)
		opts = append(opts, read.EveryRow())
	}
	for r, err := range s.at.rows(ctx, table, append(opts, read.Versions(1), read.Limit(int(most)+1))...) {
		if err != nil {
			return nil, err
		}
		bytes := sql.RowBytes(r)
		some := !narrow || hasCells(r)
		if some && len(out.Rows) == limit {
			out.Cut, out.Note = true, fmt.Sprintf("cut after %d rows: there are more", limit)
			break
		}
		out.Read.Rows++
		if out.Read.Bytes += bytes; s.Budget.Over(sql.Amount{Rows: out.Read.Rows, Bytes: out.Read.Bytes}) {
			out.Cut, out.Note = true, "cut: the rest is beyond the budget"
			break
		}
		switch {
		case !some:
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			continue
		case bytes > maxResult: // and more as JSON
			out.Cut, out.Note = true, cutNote(len(out.Rows))
			return out, nil
		}
		line := row{Key: textOr64(r.Key()), Cells: []cell{}}
		for c := range r.Cells() {
			line.Cells = append(line.Cells, cell{c.Family, textOr64(c.Qualifier), c.Value.Type().String(), jsonOfCell(c.Value), timeOf(c.Timestamp)})
		}
		n, err := sizeOf(line)
		if err != nil {
			return nil, err
		}
		if size += n; size > maxResult {
			out.Cut, out.Note = true, cutNote(len(out.Rows))
			break
		}
		out.Rows = append(out.Rows, line)
	}
	return out, ctx.Err()
}

type writeIn struct {
	Table   string   `json:"table"`
	Changes []change `json:"changes" jsonschema:"up to 1000; all take effect together or none"`
}

type change struct {
	Key    any    `json:"key" jsonschema:"the row's key: a string, or {\"base64\": \"…\"}"`
	Column string `json:"column,omitempty" jsonschema:"family:qualifier; a delete can also take a family, or the whole row without it"`
	Value  any    `json:"value,omitempty" jsonschema:"a string, number or boolean, or {\"base64\": \"…\"}"`
	Type   string `json:"type,omitempty" jsonschema:"string, bytes, i64, i32, byte, f64, f32 or bool, if the family declares none and the value does not tell"`
	Delete bool   `json:"delete,omitempty" jsonschema:"delete instead of set"`
}

type written struct {
	Written int `json:"written"`
}

func (s *server) write(ctx context.Context, in writeIn) (any, error) {
	if n := len(in.Changes); n < 1 || n > maxChanges {
		return nil, fmt.Errorf("a write has 1 to %d changes, and this one %d", maxChanges, n)
	}
	e, err := s.find(ctx, in.Table)
	if err != nil {
		return nil, err
	}
	if e.table == nil {
		return nil, fmt.Errorf("%s is a %s; only tables are written", e.name, e.kind)
	}
	b := write.NewBatch()
	for i := range in.Changes {
		key, m, err := in.Changes[i].mutation(e.table)
		if err != nil {
			return nil, fmt.Errorf("change %d: %w", i+1, err)
		}
		b.Add(e.name, key, m)
	}
	if err := s.at.apply(ctx, b); err != nil {
		return nil, err
	}
	return written{len(in.Changes)}, nil
}

func (c *change) mutation(t *schema.Table) (key string, m *write.Mutation, err error) {
	if key, err = textOf("key", c.Key); err != nil {
		return "", nil, err
	}
	m = write.NewMutation()
	name, qualifier, one := strings.Cut(c.Column, ":")
	f, ok := t.Family(name)
	switch {
	case c.Column != "" && !ok:
		var names []string
		for _, f := range t.Families {
			names = append(names, f.Name)
		}
		return "", nil, fmt.Errorf("there is no family %.200q in %s%s", name, t.Name, schema.DidYouMean(name, names))
	case c.Delete && c.Value != nil:
		return "", nil, errors.New("a delete takes no value")
	case c.Delete && c.Column == "":
		m.DeleteRow()
	case c.Delete && !one:
		m.DeleteCellsInFamily(name)
	case c.Delete:
		m.DeleteCellsInColumn(name, qualifier)
	case !one:
		return "", nil, fmt.Errorf("column is %.200q; want family:qualifier", c.Column)
	default:
		v, err := valueOf(c.Value, c.Type, f)
		if err != nil {
			return "", nil, err
		}
		if f.Aggregate != 0 {
			m.Add(name, qualifier, v)
		} else {
			m.Set(name, qualifier, v)
		}
	}
	return key, m, nil
}

type diffIn struct {
	Limit *int `json:"limit,omitempty" jsonschema:"cells, 1 to 1000; 100 without it"`
}

type difference struct {
	Table     string `json:"table"`
	Key       any    `json:"key"`
	Family    string `json:"family"`
	Qualifier any    `json:"qualifier"`
	Time      string `json:"time"`
	Was       any    `json:"was"`
	Is        any    `json:"is"`
}

type differences struct {
	Cells  []difference `json:"cells"`
	Schema []string     `json:"schema,omitempty"`
	Cut    bool         `json:"cut"`
}

var errEnough = errors.New("no more differences are needed")

func (s *server) diff(ctx context.Context, in diffIn) (any, error) {
	limit, err := limitOf(in.Limit)
	if err != nil {
		return nil, err
	}
	all, err := s.at.list(ctx) // it compares all tables
	if err != nil {
		return nil, err
	}
	var total sql.Amount
	for _, e := range all {
		if e.table == nil {
			continue
		}
		a, err := s.all(ctx, e.name, leastBudget)
		if err != nil {
			return nil, s.veil(ctx, err)
		}
		total.Rows += a.estimate.Rows
		total.Bytes += a.estimate.Bytes
	}
	switch {
	case !s.Budget.Over(total):
	case len(s.Names) > 0:
		return nil, fmt.Errorf("diff would read more than the budget; smolwc branch diff %s lists the differences", s.Branch.Name)
	default:
		return nil, fmt.Errorf("diff would read all of the branch, about %v, and the budget is %v; smolwc branch diff %s lists the differences", total, s.Budget, s.Branch.Name)
	}
	out := differences{Cells: []difference{}}
	size := 0
	report, err := branch.Diff(ctx, *s.Branch, func(d branch.Difference) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case !s.visible(d.Table):
			return nil
		case len(out.Cells) == limit:
			return errEnough
		}
		line := difference{d.Table, textOr64(d.Row), d.Family, textOr64(d.Qualifier), timeOf(d.Timestamp), cellOrNil(d.Was), cellOrNil(d.Is)}
		n, err := sizeOf(line)
		if size += n; err != nil || size > maxResult {
			return errors.Join(err, errEnough)
		}
		out.Cells = append(out.Cells, line)
		return nil
	})
	if out.Cut = errors.Is(err, errEnough); err != nil && !out.Cut {
		return nil, s.veil(ctx, err)
	}
	for _, c := range report.Schema.Changes {
		if s.visible(c.Table) {
			out.Schema = append(out.Schema, c.String())
		}
	}
	return out, nil
}

func cellOrNil(v cells.Value) any {
	if v.Type() == cells.TypeAny {
		return nil
	}
	return jsonOfCell(v)
}

// veil is the error of a call before it reads rows, for a caller that does not know all names. Faults
// of the text of a query are told: its views were found sound, and its tables exist for
// the caller. Texts are not searched for names there: a query can make one, and would learn it.
func (s *server) veil(ctx context.Context, err error) error {
	if err == nil || len(s.Names) == 0 || ctx.Err() != nil {
		return err
	}
	if fault, ok := errors.AsType[*sql.Error](err); ok && !strings.HasPrefix(fault.Message, "Table not found") { // it was dropped meanwhile
		return err
	}
	if query.KindOf(err) != query.KindResourceExhausted {
		return errHidden
	}
	all, failed := s.at.list(ctx)
	if failed != nil {
		return errHidden
	}
	for _, e := range all {
		if !s.visible(e.name) && names(err.Error(), e.name) {
			return errHidden
		}
	}
	return err
}

// behind reports whether a query reads a view whose table the caller does not know. How much it
// reads would tell which keys of rows exist there: a key is read or not.
func (s *server) behind(ctx context.Context, q *sql.Query) bool {
	return len(s.Names) > 0 && slices.ContainsFunc(q.Tables(), func(name string) bool {
		e, err := s.find(ctx, name)
		return err != nil || e.kind == logicalKind
	})
}

// veilRead is veil for a query that may be beyond its budget.
func (s *server) veilRead(ctx context.Context, q *sql.Query, err error) error {
	if query.KindOf(err) == query.KindResourceExhausted && s.behind(ctx, q) {
		return &query.Error{Op: "query", Kind: query.KindResourceExhausted, Err: fmt.Errorf("the query would read too much: the budget is %v; give a range or a prefix of the key in WHERE, or a LIMIT without WHERE", s.Budget)}
	}
	return s.veil(ctx, err)
}

// veilRow is veil for a query that reads rows. An expression that fails may be of a view's text, and
// show a value that the view does not.
func (s *server) veilRow(ctx context.Context, q *sql.Query, err error) error {
	if _, fault := errors.AsType[*sql.Error](err); !fault || len(s.Names) == 0 {
		return s.veil(ctx, err)
	}
	if s.behind(ctx, q) {
		return errRow
	}
	return err
}

var (
	errHidden = errors.New("this cannot be read now; who gave you the view can see why")
	errRow    = errors.New("the query fails at a row: a value cannot be computed, such as that of CAST, or the rows take too much memory; SAFE_CAST and functions with SAFE. are NULL instead")
)

// leastBudget is for estimates that should read little.
var leastBudget = sql.Budget{Rows: 1, Bytes: 1}

// sound is an error if a view cannot be read at all, without its reason: that names its tables.
func (s *server) sound(ctx context.Context, q *sql.Query) error {
	for _, name := range q.Tables() {
		if _, err := s.all(ctx, name, leastBudget); err != nil && ctx.Err() == nil {
			return errHidden
		}
	}
	return nil
}

// names reports whether a text has a name as a word.
func names(text, name string) bool {
	found, err := regexp.MatchString(`(?i)(^|[^\pL\pN_])`+regexp.QuoteMeta(name)+`($|[^\pL\pN_])`, text)
	return found || err != nil
}
