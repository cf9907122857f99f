package exec

// A Listing is a small table that a statement gives: not rows, but facts about them. A line
// has as many fields as there are Columns, each a string, an int64, a float64, a
// cells.Timestamp, or nil for nothing.
type Listing struct {
	Columns []string // names as csv and json have them
	Lines   [][]any
	// Format is the one that the statement asks for, "" for none.
	Format string
	// Bars is the column that people see as bars, "" for none.
	Bars string
	// Line is numbers to draw in a line, NaN for a gap; nil: no drawing.
	Line []float64
	// Notes are for people, below the table.
	Notes []string
}

func (*Listing) result() {}

// Statistics are what the engine tells of itself.
type Statistics struct {
	// Families has a line for each family.
	Families *Listing
	// Engine are the figures of the database as a whole; empty if the statement is about a
	// table.
	Engine []Figure
	Format string // the one that the statement asks for, "" for none
}

// A Figure is one of the figures of a database.
type Figure struct {
	Name  string // as json has it: cache_hit_rate
	Value any    // an int64, a float64 or a string
	Unit  string // bytes, us, or "" for a plain number or text
}

func (*Statistics) result() {}
