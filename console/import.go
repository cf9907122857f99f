package console

import (
	"cmp"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/client/remote"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/transfer"
	"github.com/smolwc/smolwc/transfer/statement"
)

const (
	// maxUpload is the size of a file that a page imports, in bytes. It lies on the server's
	// disk meanwhile.
	maxUpload = 1 << 30
	// maxUploads is how many such files there may be at once.
	maxUploads = 4
	// uploadMemory is how much of a form with a file is kept in memory, in bytes.
	uploadMemory = 64 << 10
	// uploadPause is how long a browser may send nothing of a file.
	uploadPause = time.Minute
)

// An importPage is the form that imports a file, with what was seen of the file or done.
type importPage struct {
	Table     string
	Statement string  // the import, to be changed and run; "": no file was looked at
	Create    string  // the statement that makes the table first; "": it exists
	Unsure    bool    // no field tells all lines apart
	LeftOut   string  // of the file by the proposal; "": nothing
	Seen      *result // the columns or fields of the file
	Done      []string
	Failure   string
}

func showImport(v *visit) error {
	return v.show("import", "Import a file", importPage{Table: v.r.FormValue("table")})
}

// importUpload looks at a file, or imports it by a statement. The browser sends the file each
// time, so that nothing of it is left here.
func importUpload(v *visit) error {
	p := importPage{Table: strings.TrimSpace(v.r.FormValue("table")), Statement: v.r.FormValue("q"), Create: v.r.FormValue("create")}
	var err error
	if v.r.FormValue("act") == "import" {
		err = p.load(v)
	} else {
		p.Statement, p.Create = "", ""
		err = p.look(v)
	}
	if err != nil {
		p.Failure = err.Error()
	}
	return v.show("import", "Import a file", p)
}

// look shows what the file has, and a statement that imports it.
func (p *importPage) look(v *visit) error {
	if p.Table == "" {
		return invalid("name the table: one that there is, or a new one")
	}
	return v.uploaded(func(path, name string) error {
		st := &ql.Import{Table: ql.Name{Text: p.Table}, Path: name}
		spec := statement.Import(st)
		spec.Path, spec.DryRun = path, true
		t, known, err := v.declared(p.Table)
		if err == nil && !known {
			err = schema.CheckTableName(p.Table)
		}
		if err != nil {
			return err
		}
		res, err := transfer.ImportInto(v.r.Context(), remote.Database{Client: v.Client}.Table(p.Table), t, spec)
		if err != nil {
			return err
		}
		if res.Proposal != nil && len(res.Proposal.Names) > 0 {
			var create *ql.CreateTable
			st, create = statement.Proposed(st, res.Proposal)
			p.LeftOut = statement.LeftOut(res.Proposal)
			if p.Unsure = !res.Proposal.Unique; !known {
				p.Create = ql.Print(create)
			}
			for i, f := range res.Fields { // as they fit without what na= leaves out
				if at := slices.IndexFunc(res.Proposal.Columns, func(m transfer.Mapping) bool { return m.Field == f.Field && m.Type != cells.TypeAny }); at >= 0 {
					res.Fields[i].Fits = res.Proposal.Columns[at].Type
				}
			}
		}
		p.see(st, &res)
		p.Statement = ql.Print(st)
		return nil
	})
}

// see lists the columns or fields of a file.
func (p *importPage) see(st *ql.Import, res *transfer.Result) {
	found := statement.DryRun(st, res)
	p.Seen = &result{Columns: found.Columns}
	for _, line := range found.Lines {
		p.Seen.addLine(line)
	}
	if st.DryRun {
		p.Done = found.Notes
	}
}

// load runs the statement, and before it the one that makes its table.
func (p *importPage) load(v *visit) error {
	parsed, err := ql.Parse(p.Statement)
	if err != nil {
		return err
	}
	st, ok := parsed.(*ql.Import)
	if !ok {
		return invalid("this page imports a file; other statements have the page Query")
	}
	if p.Table = st.Table.Text; st.Bad != "" {
		return invalid("a page writes no files; leave out bad=")
	}
	return v.uploaded(func(path, name string) error {
		t, known, err := v.declared(p.Table)
		if err != nil {
			return err
		}
		if !known && p.Create != "" && !st.DryRun {
			create, err := ql.Parse(p.Create)
			if made, ok := create.(*ql.CreateTable); err != nil || !ok || made.Table.Text != p.Table {
				return invalid("the statement imports into table %s, which there is not; look at the file again", lex.QuoteName(p.Table))
			}
			if _, err := v.run(p.Create); err != nil {
				return err
			}
			if t, _, err = v.declared(p.Table); err != nil {
				return err
			}
		}
		p.Create = ""
		var warned limited
		spec := statement.Import(st)
		spec.Path, spec.Warn = path, &warned
		res, err := transfer.ImportInto(v.r.Context(), remote.Database{Client: v.Client}.Table(p.Table), t, spec)
		p.Done = nonEmptyLines(strings.ReplaceAll(warned.String(), path, name))
		if err != nil {
			return err
		}
		if st.Path = name; st.DryRun {
			p.see(st, &res)
			return nil
		}
		p.Done = append(p.Done, statement.Notes(st, &res)...)
		return nil
	})
}

// declared is a table as it is now.
func (v *visit) declared(name string) (t schema.Table, known bool, err error) {
	if err := v.Refresh(v.r.Context()); err != nil {
		return t, false, err
	}
	t, known = v.LookupTable(name)
	return t, known, nil
}

func nonEmptyLines(text string) (lines []string) {
	for line := range strings.Lines(text) {
		if line = printable(strings.TrimSpace(line)); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// uploaded calls fn with the path of the uploaded file, and its name for people. Errors of fn
// have that name.
func (v *visit) uploaded(fn func(path, name string) error) error {
	sent, header, err := v.r.FormFile("file")
	if err != nil {
		return invalid("choose a file")
	}
	defer func() { _ = sent.Close() }() // read only
	name := filepath.Base(filepath.Clean("/" + strings.ReplaceAll(header.Filename, `\`, "/")))
	if name == "/" || !filepath.IsLocal(name) {
		return invalid("a file of the name %s cannot be imported", lex.QuoteText(header.Filename))
	}
	if header.Size == 0 {
		return invalid("the file %s is empty", lex.QuoteText(name))
	}
	dir, err := os.MkdirTemp("", "smolwc-import-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "upload"+suffixes(name))
	if err := moveUpload(sent, path); err != nil {
		return err
	}
	if err := fn(path, name); err != nil {
		return renamed{err, path, name}
	}
	return nil
}

// suffixes are the end of a file's name that says what it has, as .csv.gz.
func suffixes(name string) string {
	name = strings.ToLower(name)
	kind, packed := filepath.Ext(name), ""
	if kind == ".gz" || kind == ".zst" {
		kind, packed = filepath.Ext(strings.TrimSuffix(name, kind)), kind
	}
	return kind + packed
}

// moveUpload brings a file of a form to a path.
func moveUpload(sent multipart.File, path string) (err error) {
	if onDisk, ok := sent.(*os.File); ok && os.Rename(onDisk.Name(), path) == nil {
		return nil
	}
	to, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, to.Close()) }()
	_, err = io.Copy(to, sent)
	return err
}

// renamed is an error with the name that the person knows in place of a path.
type renamed struct {
	err        error
	path, name string
}

func (r renamed) Error() string { return strings.ReplaceAll(r.err.Error(), r.path, r.name) }
func (r renamed) Unwrap() error { return r.err }

// receive reads a form with a file.
func (v *visit) receive() error {
	control := http.NewResponseController(v.w)
	v.r.Body = http.MaxBytesReader(v.w, &patient{v.r.Body, control}, maxUpload)
	err := v.r.ParseMultipartForm(uploadMemory)
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return errorf("the file is larger than %s; import it with the shell beside it: smolwc --addr", schema.FormatSize(maxUpload))
	}
	if err != nil {
		return errorf("the form did not come whole: %w", err)
	}
	// The import may take long, and the end of the connection ends it.
	if err := control.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// patient reads a body that may take as long as it comes.
type patient struct {
	io.ReadCloser
	control *http.ResponseController
}

func (p *patient) Read(b []byte) (int, error) {
	now := time.Now()
	if err := errors.Join(p.control.SetReadDeadline(now.Add(uploadPause)), p.control.SetWriteDeadline(time.Time{})); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	return p.ReadCloser.Read(b)
}
