package exec

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/smolwc/smolwc/directory"
	"github.com/smolwc/smolwc/internal/humanize"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

// rootDirectory is the root of the directories in a table. data are the tables with
// their rows.
func (r *Runner) rootDirectory(st ql.Statement, in ql.Name, data ...string) (*directory.Directory, error) {
	if in.Text == "" {
		in = ql.Name{Text: directory.DefaultTable, Pos: st.Position()}
	}
	t, err := r.table(in)
	if err != nil {
		return nil, declareDirectories(st, in, err)
	}
	f, err := usualFamily(t, directory.DefaultFamily, in.Pos)
	return directory.New(directory.Options{Table: t.Name, Family: f.Name, Data: data}), err
}

// usualFamily returns the table's only family, or else the one with a name.
func usualFamily(t schema.Table, name string, at lex.Pos) (schema.Family, error) {
	if len(t.Families) == 1 {
		name = t.Families[0].Name
	}
	return family(t, ql.Name{Text: name, Pos: at})
}

// declareDirectories adds to the error about an unknown table how one is declared.
func declareDirectories(st ql.Statement, in ql.Name, err error) error {
	bad, ok := err.(*lex.Error)
	if !ok || strings.HasSuffix(bad.Msg, "?") { // it says what was meant
		return err
	}
	bad.Msg += fmt.Sprintf("; directories have a table of their own, declared as {name: %s, families: [{name: %s, type: bytes, max_versions: 1}]}", lex.Printable(lex.Clip(in.Text)), directory.DefaultFamily)
	if _, isList := st.(*ql.ListDirectories); isList {
		bad.Msg += "; tables lists the tables"
	}
	return bad
}

// listDirectories lists directories as of one moment. The first column is the part that name
// takes of a path.
func (r *Runner) listDirectories(ctx context.Context, l *Listing, name func(path []string) []string, read func(tx *query.Tx) ([]*directory.Directory, error)) (Result, error) {
	var found []*directory.Directory
	err := r.DB.Update(ctx, func(tx *query.Tx) (err error) {
		found, err = read(tx)
		return err
	})
	if err != nil {
		return nil, err
	}
	partitions := 0
	for _, d := range found {
		layer := string(d.Layer())
		if layer == directory.PartitionLayer {
			partitions++
		}
		if layer != "" {
			layer = lex.QuoteKey(layer)
		}
		l.Lines = append(l.Lines, []any{lex.QuotePath(name(d.Path())), layer, lex.QuoteKey(string(d.Prefix()))})
	}
	note := humanize.Count(len(found), "directory", "directories")
	if partitions > 0 {
		note += ", with " + humanize.Count(partitions, "partition")
	}
	l.Notes = []string{note}
	return l, nil
}

// directories lists all directories.
func (r *Runner) directories(ctx context.Context, st *ql.Directories) (Result, error) {
	root, err := r.rootDirectory(st, st.In)
	if err != nil {
		return nil, err
	}
	l := &Listing{Columns: []string{"path", "layer", "prefix"}, Format: st.Format}
	whole := func(path []string) []string { return path }
	return r.listDirectories(ctx, l, whole, func(tx *query.Tx) ([]*directory.Directory, error) {
		return root.Descendants(ctx, tx, nil)
	})
}

// ls lists the directories in a directory.
func (r *Runner) ls(ctx context.Context, st *ql.ListDirectories) (Result, error) {
	root, err := r.rootDirectory(st, st.In)
	if err != nil {
		return nil, err
	}
	l := &Listing{Columns: []string{"name", "layer", "prefix"}, Format: st.Format}
	last := func(path []string) []string { return path[len(path)-1:] }
	return r.listDirectories(ctx, l, last, func(tx *query.Tx) ([]*directory.Directory, error) {
		d, err := openDirectory(ctx, tx, root, st.Path)
		if err != nil {
			return nil, err
		}
		return d.Children(ctx, tx, nil)
	})
}

// mostDraws is how many prefixes mkdir tries: rows of other tables may have some of them.
const mostDraws = 16

// mkdir creates a directory whose prefix begins no row key, in any table: rows that
// exist already do not become rows of the directory.
func (r *Runner) mkdir(ctx context.Context, st *ql.MakeDirectory) (Result, error) {
	var data []string
	for _, t := range r.DB.Schema().Tables {
		data = append(data, t.Name)
	}
	root, err := r.rootDirectory(st, st.In, data...)
	if err != nil {
		return nil, err
	}
	create := func(tx *query.Tx) error {
		_, err := root.Create(ctx, tx, st.Path.Names, []byte(st.Layer))
		return err
	}
	err = r.DB.Update(ctx, create)
	for n := 1; n < mostDraws && errors.Is(err, directory.ErrPrefixInUse); n++ {
		err = r.DB.Update(ctx, create)
	}
	return &Done{fmt.Sprintf("created directory %s", st.Path)}, placed(st.Path.Pos, err)
}

// mv gives a directory another path.
func (r *Runner) mv(ctx context.Context, st *ql.MoveDirectory) (Result, error) {
	root, err := r.rootDirectory(st, st.In)
	if err != nil {
		return nil, err
	}
	err = r.DB.Update(ctx, func(tx *query.Tx) error {
		if _, err := openDirectory(ctx, tx, root, st.From); err != nil {
			return err
		}
		_, err := root.Move(ctx, tx, st.From.Names, st.To.Names)
		if errors.Is(err, directory.ErrRoot) {
			return failure(st.From.Pos, err)
		}
		return placed(st.To.Pos, err)
	})
	return &Done{fmt.Sprintf("moved %s to %s", st.From, st.To)}, err
}

// placed is failure of an error that may be nil.
func placed(at lex.Pos, err error) error {
	if err == nil {
		return nil
	}
	return failure(at, err)
}

// openDirectory finds the directory of a path. The root is found without a name.
func openDirectory(ctx context.Context, tx *query.Tx, root *directory.Directory, path ql.Path) (*directory.Directory, error) {
	if len(path.Names) == 0 {
		return root, nil
	}
	d, err := root.Open(ctx, tx, path.Names, nil)
	if errors.Is(err, directory.ErrNotFound) {
		err = unknownDirectory(ctx, tx, root, path)
	}
	return d, placed(path.Pos, err)
}

// mostSiblings is how many names are looked at to find the one that was meant.
const mostSiblings = 1000

// unknownDirectory is the error for a path without a directory: it names the first name
// that does not exist.
func unknownDirectory(ctx context.Context, tx *query.Tx, root *directory.Directory, path ql.Path) error {
	n, in := 0, ""
	for ; n < len(path.Names)-1; n++ {
		if there, err := root.Exists(ctx, tx, path.Names[:n+1]); err != nil || !there {
			break
		}
		in = " in " + lex.QuotePath(path.Names[:n+1])
	}
	siblings, err := root.ListPrefix(ctx, tx, path.Names[:n], "", read.Limit(mostSiblings))
	if err != nil {
		return err
	}
	return unknown(ql.Name{Text: path.Names[n], Pos: path.Pos}, "directory", siblings, in)
}

// A DirectoryName is the name of a directory for the completion of a path.
type DirectoryName struct {
	Name string
	// Parent says that there are directories below it.
	Parent bool
}

// DirectoryNames returns the names in the directory of a path that begin with a prefix:
// the first ones, up to a number, and the last one, so that the common beginning of those returned
// is that of all. more says that there are names before the last one that it
// leaves out. table is "" for the usual table. It returns nothing if the directories cannot
// be read.
func (r *Runner) DirectoryNames(ctx context.Context, table string, path []string, prefix string, most int) (found []DirectoryName, more bool) {
	if r == nil || r.DB == nil || ctx == nil {
		return nil, false
	}
	root, err := r.rootDirectory(&ql.Directories{}, ql.Name{Text: table})
	if err != nil {
		return nil, false
	}
	err = r.DB.Update(ctx, func(tx *query.Tx) error {
		found = nil
		names, err := root.ListPrefix(ctx, tx, path, prefix, read.Limit(most+2))
		if more = err == nil && len(names) > most+1; more {
			var last []string
			last, err = root.ListPrefix(ctx, tx, path, prefix, read.Reverse(), read.Limit(1))
			names = append(names[:most], last...)
		}
		for _, name := range names {
			if err != nil {
				break
			}
			var below []string
			below, err = root.ListPrefix(ctx, tx, append(path[:len(path):len(path)], name), "", read.Limit(1))
			found = append(found, DirectoryName{name, len(below) > 0})
		}
		return err
	})
	if err != nil {
		return nil, false
	}
	return found, more
}

// joined joins words with commas, and with and before the last.
func joined(words []string) string {
	if n := len(words) - 1; n > 0 {
		return strings.Join(words[:n], ", ") + " and " + words[n]
	}
	return strings.Join(words, "")
}
