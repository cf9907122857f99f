package catalog

import (
	"github.com/smolwc/smolwc/cells"
)

// A database stays at the smallest format that it needs, so that an older smolwc can open
// it. It is created with FormatOfNew; format 2 allows timestamps after LastOfFormat1; in
// format 3 every write of a table with marks marks its rows; format 4 keeps deleted tables;
// format 5 is for databases with standbys, and for standbys. A database on Pebble is
// created with format 6, which a smolwc without Pebble refuses. In format 7 the log may say
// when its records were written.
const (
	FormatOfNew                      = 1
	FormatOfLate                     = 2
	FormatOfMarks                    = 3
	FormatOfDeleted                  = 4
	FormatOfStandbys                 = 5
	FormatOfPebble                   = 6
	FormatOfDated                    = 7
	LastOfFormat1    cells.Timestamp = 1<<62 - 1
)
