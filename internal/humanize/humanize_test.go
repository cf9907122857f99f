package humanize_test

import (
	"fmt"
	"time"

	"github.com/smolwc/smolwc/internal/humanize"
)

func Example() {
	fmt.Println(humanize.Plural(1, "row"), humanize.Plural(1_234_567, "row"), humanize.Plural(2, "family", "families"))
	fmt.Println(humanize.Count(1200, "row"), humanize.Thousands(-123_456), humanize.Unit(0, "cell"))
	fmt.Println(humanize.Size(1), humanize.Size(999), humanize.Size(1000), humanize.Size(999_499), humanize.Size(999_500), humanize.Size(1<<63-1))
	fmt.Println(humanize.Elapsed(time.Microsecond), humanize.Elapsed(1500*time.Microsecond), humanize.Elapsed(90*time.Second))
	// Output:
	// 1 row 1,234,567 rows 2 families
	// 1200 rows -123,456 cells
	// 1 byte 999 bytes 1 kB 999 kB 1 MB 9.22 EB
	// 1us 1.5ms 90.0s
}
