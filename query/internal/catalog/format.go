package catalog

import (
	"github.com/smolwc/smolwc/cells"
)

// A database has the smallest format that it needs, so that an older smolwc can
// open it. It is created with FormatOfNew; format 2 has timestamps after
// LastOfFormat1; in format 3 every write of a table with marks marks its rows; format
// 4 has deleted tables that are kept; format 5 has standbys, or is one. A database on Pebble
// is created with format 6, which a smolwc without Pebble refuses. In format 7 the log may say
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
