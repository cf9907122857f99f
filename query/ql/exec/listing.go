package exec

// A Listing is a small table of facts as a statement's result. Each line has one field
// for each of Columns: a string, an int64, a float64, a cells.Timestamp, or nil for an
// empty field.
type Listing struct {
	Columns []string // names in csv and json
	Lines   [][]any
	// Format is the format that the statement asks for; "" if it names no format.
	Format string
	// Bars is the column that terminals show as bars; "": no bars.
	Bars string
	// Line is the numbers of a line drawing, NaN for a gap; nil: no drawing.
	Line []float64
	// Notes are shown to people below the table.
	Notes []string
}

func (*Listing) result() {}

// Statistics are the engine's statistics.
type Statistics struct {
	// Families has one line for each family.
	Families *Listing
	// Engine has the figures of the whole database; it is empty if the statement is
	// about a table.
	Engine []Figure
	Format string // the format that the statement asks for; "" if it names no format
}

// A Figure is one statistic of a database.
type Figure struct {
	Name  string // the name in json: cache_hit_rate
	Value any    // an int64, a float64 or a string
	Unit  string // bytes, us, or "" for a plain number or text
}

func (*Statistics) result() {}
