package ql

import "github.com/smolwc/smolwc/ql/lex"

// A Path is the path of a directory and its place in the text.
type Path struct {
	Names []string // empty: the root
	Pos   lex.Pos
}

func (p Path) String() string { return lex.QuotePath(p.Names) }

var directoriesVerb = verb{
	name: "directories", parse: parseDirectories,
	help: helpTopic{
		summary: "the tree of the directories",
		syntax:  "directories [in T] [as FORMAT]",
		text: "A directory is a prefix of row keys with a name: see docs/directories.md. The rows whose keys begin with the prefix are its rows,\n" +
			"in any table. Directories are in the table directories, or in the one that in names.",
		examples: []string{"directories", "directories as csv"},
	},
}

// Directories shows all directories.
type Directories struct {
	Node
	In     Name   // the table of the directories; its Text is "" if not given
	Format string // one of Formats; "": not given
}

func (st *Directories) print(w *printer) {
	w.words("directories")
	w.inTable(st.In)
	w.as(st.Format)
}

func parseDirectories(p *parser) Statement {
	return &Directories{In: p.inTable(Name{}), Format: p.as()}
}

var lsVerb = verb{
	name: "ls", parse: parseLs, paths: true,
	help: helpTopic{
		summary: "the directories in a directory",
		syntax:  "ls [PATH] [in T] [as FORMAT]",
		text: "PATH is names with slashes between them; quote a name that has other characters than a bare word: tenants/'a/b'.\n" +
			"The layer partition marks a partition: the prefixes of its directories begin with its own. tables lists the tables.",
		examples: []string{"ls", "ls tenants", "ls tenants/acme in directories as json"},
	},
}

// ListDirectories shows the directories directly below a path.
type ListDirectories struct {
	Node
	Path   Path
	In     Name
	Format string
}

func (st *ListDirectories) print(w *printer) {
	w.words("ls")
	w.flag(st.Path.String(), len(st.Path.Names) > 0)
	w.inTable(st.In)
	w.as(st.Format)
}

// parseLs parses ls [PATH] [in T] [as FORMAT]. After the word cbt it is the ls of cbt.
func parseLs(p *parser) Statement {
	if p.foreign {
		return parseCbtLs(p)
	}
	st := &ListDirectories{In: p.inTable(Name{}), Path: Path{Pos: p.start}}
	if p.wantKind(ExpectPath); p.atPath() {
		st.Path = p.path()
	}
	st.In = p.inTable(st.In)
	st.Format = p.as()
	return st
}

var mkdirVerb = verb{
	name: "mkdir", parse: parseMkdir, paths: true,
	help: helpTopic{
		summary: "create a directory",
		syntax:  "mkdir PATH [layer=TEXT] [in T]",
		text: "Creates the directory with its missing parents. It is an error if the directory exists. The prefix is one that no row key begins with, in any table.\n" +
			"layer= is a label, which programs compare when they open the directory; with the label partition it is a partition.",
		examples: []string{"mkdir tenants/hooli", "mkdir tenants/umbrella layer=tenant"},
	},
}

// MakeDirectory creates a directory and its missing parents.
type MakeDirectory struct {
	Node
	Path  Path
	Layer string // "": not given
	In    Name
}

func (st *MakeDirectory) print(w *printer) {
	w.words("mkdir", st.Path.String())
	w.word("layer", st.Layer)
	w.inTable(st.In)
}

// parseMkdir parses mkdir PATH [layer=TEXT] [in T].
func parseMkdir(p *parser) Statement {
	st := &MakeDirectory{In: p.inTable(Name{}), Path: p.path()}
	if p.acceptOption("layer") {
		st.Layer = p.text("a layer, as in tenant")
	}
	st.In = p.inTable(st.In)
	return st
}

var mvVerb = verb{
	name: "mv", parse: parseMv, paths: true,
	help: helpTopic{
		summary: "give a directory another path",
		syntax:  "mv FROM TO [in T]",
		text: "The parent of the new path must exist. The prefix, the rows and the directories below stay as they are: no row is written.\n" +
			"Directories cannot be moved into or out of a partition.",
		examples: []string{"mv tenants/acme tenants/initech"},
	},
}

// MoveDirectory gives a directory another path.
type MoveDirectory struct {
	Node
	From, To Path
	In       Name
}

func (st *MoveDirectory) print(w *printer) {
	w.words("mv", st.From.String(), st.To.String())
	w.inTable(st.In)
}

// parseMv parses mv FROM TO [in T].
func parseMv(p *parser) Statement {
	st := &MoveDirectory{In: p.inTable(Name{}), From: p.path(), To: p.path()}
	st.In = p.inTable(st.In)
	return st
}

var rmVerb = verb{
	name: "rm", parse: parseRm, paths: true,
	help: helpTopic{
		summary: "remove a directory with its rows",
		syntax:  "rm PATH [in T] [with T, ..] [yes]",
		text: "Removes the directory, those below it, and their rows in the tables that with names.\n" +
			"If another table has rows of them, nothing is removed, and the answer says which.\n" +
			"It asks first on a terminal and needs yes in scripts.",
		examples: []string{"rm tenants/initech with users yes"},
	},
}

// RemoveDirectory removes a directory, those below it, and their rows.
type RemoveDirectory struct {
	Node
	Path Path
	In   Name
	With []Name // the tables with rows to remove
	Yes  bool   // do not ask
}

func (st *RemoveDirectory) print(w *printer) {
	w.words("rm", st.Path.String())
	w.inTable(st.In)
	w.flag("with "+listWith(", ", st.With, func(n Name) string { return lex.QuoteName(n.Text) }), len(st.With) > 0)
	w.flag("yes", st.Yes)
}

// parseRm parses rm PATH [in T] [with T, ..] [yes].
func parseRm(p *parser) Statement {
	st := &RemoveDirectory{In: p.inTable(Name{}), Path: p.path()}
	st.In = p.inTable(st.In)
	if p.acceptWord("with") {
		st.With = p.tableList()
	}
	st.Yes = p.acceptWord("yes")
	return st
}

// path parses the path of a directory.
func (p *parser) path() Path {
	p.wantKind(ExpectPath)
	if !p.atPath() {
		panic(p.unexpected("the path of a directory, as in tenants/acme"))
	}
	t := p.next()
	return Path{must(t.Path()), t.Pos}
}

func (p *parser) atPath() bool { return p.peek().Kind == lex.Word && !lex.EndsPath(p.peek().Keyword()) }

// inTable parses in T, unless a table is given already. It may stand before a path too:
// then the path can be completed from that table.
func (p *parser) inTable(given Name) Name {
	if given.Text == "" && p.acceptWord("in") {
		return p.tableNamed()
	}
	return given
}

// tableList parses T, T, ..
func (p *parser) tableList() []Name {
	list := []Name{p.tableNamed()}
	for p.accept(",") {
		list = append(list, p.tableNamed())
	}
	return list
}

func (w *printer) inTable(n Name) { w.flag("in "+lex.QuoteName(n.Text), n.Text != "") }
