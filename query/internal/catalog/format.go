package catalog

import (
	"github.com/smolwc/smolwc/cells"
)

// A database has the smallest format that it needs, so that an older smolwc can
// open it. It is created with FormatOfNew; format 2 has timestamps after
// LastOfFormat1.
const (
	FormatOfNew                   = 1
	FormatOfLate                  = 2
	LastOfFormat1 cells.Timestamp = 1<<62 - 1
)
