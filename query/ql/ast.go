package ql

import (
	"reflect"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/ql/lex"
	"github.com/smolwc/smolwc/schema"
)

// A Statement is one parsed statement: a pointer to one of the types below.
type Statement interface {
	// Position is where the statement begins.
	Position() lex.Pos
	// Borrowed reports whether it was written with a spelling of cbt or HBase;
	// [Print] gives the native one.
	Borrowed() bool
	node() *Node
}

// A Node is what all statements have.
type Node struct {
	Pos     lex.Pos
	Foreign bool
	// Tuples says that keys were written as tuples; Print writes them so.
	Tuples bool
}

func (n *Node) Position() lex.Pos {
	if n == nil {
		return lex.Pos{}
	}
	return n.Pos
}
func (n *Node) Borrowed() bool { return n != nil && n.Foreign }
func (n *Node) node() *Node    { return n }

// IsNil reports whether there is no statement, or only the type of one.
func IsNil(st Statement) bool {
	v := reflect.ValueOf(st)
	return st == nil || v.Kind() == reflect.Pointer && v.IsNil()
}

// A Name is the name of a table or family, and where it stands. Where a table
// was left out for the one in use, the place is that of the statement.
type Name struct {
	Text string
	Pos  lex.Pos
}

// Statements that read.
type (
	// Get reads rows by their keys.
	Get struct {
		Node
		Table Name
		Keys  []string
		Read
	}
	// Scan reads rows in key order.
	Scan struct {
		Node
		Table Name
		Rows
		Read
	}
	// Count counts rows, and cells when asked.
	Count struct {
		Node
		Table  Name
		Cells  bool
		Approx bool // an estimate is enough
		Rows
		Read
	}
)

// Rows says which rows a scan visits; the zero Rows is all of them. At most
// one of Prefix, Start with End, and Keys is given.
type Rows struct {
	Prefix string
	// TuplePrefix says that Prefix is a packed tuple, perhaps the empty one: the
	// rows are those whose keys are tuples that begin with its elements.
	TuplePrefix bool

	Start string // inclusive
	End   string // exclusive; "" is no bound
	After string // exclusive, on top of the others; "" is no bound
	Keys  []string
}

// Unlimited is the Limit of limit=0 and the Versions of versions=all.
const Unlimited = -1

// Read says what of the visited rows is read and how it is shown.
type Read struct {
	Columns     []Column // empty: all
	Regex       *Pattern // of row keys; nil: any
	Sample      float64  // the share of rows that is taken, below 1; 0: not said
	Where       []Condition
	Versions    int       // of each column, newest first; 0: not said
	CellsPerRow int       // 0: no bound
	Limit       int       // rows; 0: not said
	Page        *string   // of the rows, by the token of the one before; "" is the first; nil: no pages
	Offset      int       // rows skipped first
	Since       *lex.Time // inclusive; nil: no bound
	Until       *lex.Time // exclusive; nil: no bound
	Reverse     bool
	KeysOnly    bool
	Stats       bool   // say what the read cost
	Format      string // one of Formats; "": not said
	Into        string // a file that rows go to; "": the output
	Overwrite   bool   // the file, if it exists
}

// A Pattern is a regular expression of RE2's syntax that matches bytes; it must
// match the whole.
type Pattern struct {
	Pos  lex.Pos
	Expr string
}

// Statements that draw what they read.
type (
	// Histogram counts the numbers of a column by their size, or rows by how
	// their keys begin.
	Histogram struct {
		Node
		Table     Name
		Column    Column // its Family is "" for row keys
		Bins      int    // at most; 0: not said
		Depth     int    // of row keys: how many parts of them; 0: one more than the prefix
		Separator string // that ends a part of a plain key; "": #
		Rows
		Read
	}
	// Sparkline shows the numbers that a column had over time.
	Sparkline struct {
		Node
		Table  Name
		Key    string
		Column Column
		Points int // at most; 0: not said
		Read
	}
	// Stats tells what the engine knows of a table, or of the database.
	Stats struct {
		Node
		Table  Name   // its Text is "" for the database
		Format string // one of Formats; "": not said
	}
)

// Statements about a read.
type (
	// Explain says how a Get, Scan or Count would be carried out.
	Explain struct {
		Node
		Statement Statement
	}
	// Analyze carries it out, shows none of its rows, and says what it cost.
	Analyze struct {
		Node
		Statement Statement
	}
)

// A ColumnKind says which columns of a family a Column means.
type ColumnKind uint8

const (
	ColumnExact  ColumnKind = iota // fam:qual
	ColumnFamily                   // fam:*
	ColumnPrefix                   // fam:pre*
	ColumnRange                    // fam:[a..b)
	ColumnRegex                    // fam:/re/
)

// A Column names one column of a family, or several.
type Column struct {
	Pos       lex.Pos
	Family    string
	Kind      ColumnKind
	Qualifier string // the qualifier, the prefix or the regular expression
	Start     string // inclusive
	End       string // exclusive; "" is no bound
}

// A Condition is one term of where: it holds for the newest visible cell of
// the column.
type Condition struct {
	Column Column
	Op     string // == != < <= > >=, or exists, or absent
	Value  lex.Literal
}

// Statements that write.
type (
	// Put writes cells of one row.
	Put struct {
		Node
		Table Name
		Key   string
		Cells []Assignment
	}
	// Add adds to cells of one row in families that aggregate.
	Add struct {
		Node
		Table Name
		Key   string
		Cells []Assignment // without a time: the cell at 0
	}
	// Delete deletes one row, or columns or cells of it.
	Delete struct {
		Node
		Table   Name
		Key     string
		Columns []DeleteColumn // empty: the row
		Since   *lex.Time      // inclusive; with Until bounds the versions
		Until   *lex.Time      // exclusive
	}
	// DeleteRange deletes all rows of a prefix or a range of keys.
	DeleteRange struct {
		Node
		Table Name
		Rows       // Prefix, or Start and End
		Yes   bool // no need to ask
	}
)

// Statements that read and write one row as one step.
type (
	// Incr adds to a whole number.
	Incr struct {
		Node
		Table  Name
		Key    string
		Column Column
		By     int64
	}
	// Append appends to text or bytes.
	Append struct {
		Node
		Table  Name
		Key    string
		Column Column
		Value  lex.Literal
	}
	// CheckAndPut writes cells of a row where a condition holds, and others
	// where it does not.
	CheckAndPut struct {
		Node
		Table Name
		Key   string
		If    Condition
		Then  []Assignment
		Else  []Assignment // empty: nothing
	}
)

// Statements about a batch: what is put and deleted between Begin and Commit
// takes effect as one.
type (
	Begin  struct{ Node }
	Commit struct{ Node }
	Abort  struct{ Node }
)

// An Assignment is COL=LIT[@TS].
type Assignment struct {
	Column Column
	Value  lex.Literal
	At     *lex.Time // nil: the database's clock
}

// A DeleteColumn is a column or a family, or one version of a column.
type DeleteColumn struct {
	Column Column
	At     *lex.Time // nil: all versions
}

// Statements about tables and families.
type (
	// CreateTable makes a table.
	CreateTable struct {
		Node
		Table Name
		TableOptions
		Families []Family
	}
	// SetTable changes what holds for a table as a whole.
	SetTable struct {
		Node
		Table Name
		TableOptions
		Yes bool // no need to ask whether data may be hidden
	}
	// AddFamily, SetFamily and DropFamily alter a table.
	AddFamily struct {
		Node
		Table  Name
		Family Family
	}
	SetFamily struct {
		Node
		Table  Name
		Family Family
		Add    bool // the family where it is not there
		Yes    bool // no need to ask whether data may be hidden
	}
	DropFamily struct {
		Node
		Table  Name
		Family Name
		Yes    bool
	}
	// DropTable deletes a table, its families and all data.
	DropTable struct {
		Node
		Table Name
		Yes   bool
	}
	// Truncate deletes all rows of a table.
	Truncate struct {
		Node
		Table Name
		Yes   bool
	}
	// Tables lists the tables.
	Tables struct {
		Node
		Regex *Pattern // that a name has to match; nil: any
	}
	// Describe shows a table's families.
	Describe struct {
		Node
		Table Name
	}
	// Compact and Flush tend to a table's files.
	Compact struct {
		Node
		Table Name
		Rows  // Prefix, or Start and End; neither: all
	}
	Flush struct {
		Node
		Table Name
	}
	// GC removes what a table's retention has dropped, or finds out how much
	// that is.
	GC struct {
		Node
		Table  Name
		DryRun bool
	}
)

// TableOptions are what is said of a table as a whole.
type TableOptions struct {
	KeyFormat *schema.KeyFormat   // nil: not said
	Retention *schema.Enforcement // nil: not said
	Changes   *time.Duration      // for how long they are kept; nil: not said; 0: not
}

// A Family declares a column family, or what of it changes.
type Family struct {
	Name     Name
	Type     *cells.Type    // nil: not said
	Versions *int           // nil: not said; 0: all
	TTL      *time.Duration // nil: not said; 0: for ever
	// Both says that a cell goes when both Versions and TTL say so, and not
	// when either does; nil: not said.
	Both *bool
	// Aggregate is what the family makes of what is added to it; nil: not said.
	Aggregate *schema.Aggregate
}

// Import loads a file into a table.
type Import struct {
	Node
	Table     Name
	Path      string
	Key       string // a template: plane#{tailnum}
	Columns   []Mapping
	Timestamp string // field; "": the database's clock
	NA        string // a field equal to it makes no cell
	BadLines  int    // how many are tolerated
	Batch     int    // rows a write; 0: not said
	Again     bool   // a large file that was imported before, too
	Overlap   bool   // a large file over cells that are there, too
}

// A Mapping is FAM:QUAL=FIELD[:TYPE].
type Mapping struct {
	Column Column
	Field  string
	Type   cells.Type // TypeAny: the family's, else string
}

// Statements about the session.
type (
	// Help explains the language or one topic of it.
	Help struct {
		Node
		Topic string
	}
	// Quit ends the session.
	Quit struct{ Node }
)
