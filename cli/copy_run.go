package cli

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/smolwc/smolwc/client/bigtable"
	"github.com/smolwc/smolwc/internal/osfile"
	"github.com/smolwc/smolwc/query"
)

// A copyRun is a copy of a database, or a comparison of two.
type copyRun struct {
	*command
	from, to, format                       string
	tables                                 []string
	follow, untilEqual, unfinished, verify bool
	progress                               *copyLine
	slice                                  sliceFlags
}

// sliceFlags say what is copied of an instance of Bigtable.
type sliceFlags struct {
	prefix, sample, keyFile string
	masks                   []string
	rate                    sizeFlag
}

// sliceFlagNames are the flags that are only about a source bigtable://.
var sliceFlagNames = []string{"prefix", "sample", "mask", "mask-key", "rate"}

func (f *sliceFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.prefix, "prefix", "", "of Bigtable, copy only the rows whose keys begin with `P`")
	flags.StringVar(&f.sample, "sample", "", "of Bigtable, copy only the `SHARE` of the rows whose keys have the smallest hashes, as in 1%")
	flags.StringArrayVar(&f.masks, "mask", nil, "of Bigtable, replace the values of columns: `FAMILY:QUALIFIER=METHOD` with hash, null or fake")
	flags.StringVar(&f.keyFile, "mask-key", "", "the key of the masks is in `FILE`, which is made if it is missing (default a key that is forgotten)")
	flags.Var(&f.rate, "rate", "read at most `SIZE` a second from Bigtable, as in 10MiB")
	flags.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "tables" {
			name = "table"
		}
		return pflag.NormalizedName(name)
	})
}

// options are what the flags say of a copy from Bigtable.
func (f *sliceFlags) options() (o bigtable.Options, err error) {
	o = bigtable.Options{Prefix: f.prefix, Rate: int64(f.rate)}
	if f.sample != "" {
		if o.Sample, err = parseShare(f.sample); err != nil {
			return o, fmt.Errorf("--sample: %w", err)
		}
	}
	for _, text := range f.masks {
		m, err := bigtable.ParseMask(text)
		if err != nil {
			return o, fmt.Errorf("--mask: %w", err)
		}
		o.Masks = append(o.Masks, m)
	}
	if f.keyFile == "" {
		return o, nil
	}
	if len(o.Masks) == 0 {
		return o, errors.New("--mask-key is given without --mask, which uses the key")
	}
	if o.MaskKey, err = maskKey(f.keyFile); err != nil {
		return o, fmt.Errorf("--mask-key: %w", err)
	}
	return o, nil
}

// parseShare reads a share of the rows, as in 1% or 0.01.
func parseShare(text string) (float64, error) {
	number, percent := strings.CutSuffix(text, "%")
	share, err := strconv.ParseFloat(number, 64)
	if percent {
		share /= 100
	}
	if err != nil || !(share > 0 && share <= 1) {
		return 0, fmt.Errorf("%q is no share of the rows, as in 1%% or 0.01", text)
	}
	return share, nil
}

// maskKey reads the key in a file, or makes both.
func maskKey(name string) ([]byte, error) {
	name, err := osfile.Home(name)
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		text, err := os.ReadFile(name)
		return []byte(strings.TrimSpace(string(text))), err
	}
	if err != nil {
		return nil, err
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	text := []byte(hex.EncodeToString(key))
	_, err = file.Write(append(text, '\n'))
	return text, errors.Join(err, file.Sync(), file.Close())
}

func (r *copyRun) json(v any) error { return json.NewEncoder(r.out).Encode(v) }

func tableOf(head string, rows func(io.Writer)) string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = io.WriteString(w, head)
	rows(w)
	_ = w.Flush()
	return out.String()
}

// A copyLine shows the progress of a copy on a terminal. Elsewhere it prints how far a
// copy that follows is behind, now and then.
type copyLine struct {
	out        io.Writer
	shown, lag bool
	last       time.Time
	began      bool
	waited     time.Time // the last fault was printed then
}

const (
	lineEvery = 100 * time.Millisecond
	lagEvery  = 10 * time.Second
)

func (l *copyLine) show(p query.CopyProgress) {
	every := lineEvery
	if !l.shown {
		every = lagEvery
	}
	began := p.Following && !l.began
	if !l.shown && (!l.lag || !p.Following) || !began && time.Since(l.last) < every {
		return
	}
	l.last, l.began = time.Now(), l.began || p.Following
	text := fmt.Sprintf("%d cells, %d MB", p.Cells, p.Bytes>>20)
	if p.Following {
		text = fmt.Sprintf("following: %d changed rows, %v behind", p.Rows, p.Lag.Round(time.Millisecond))
	}
	if l.shown {
		text = "\r\x1b[K" + text
	} else {
		text += "\n"
	}
	_, _ = io.WriteString(l.out, text)
}

// waits prints, now and then, why a copy comes no further.
func (l *copyLine) waits(fault error, quiet bool) {
	if quiet || time.Since(l.waited) < lagEvery {
		return
	}
	l.clear()
	l.waited = time.Now()
	_, _ = fmt.Fprintf(l.out, "smolwc: %v; trying again\n", fault)
}

func (l *copyLine) clear() {
	if l.shown {
		_, _ = io.WriteString(l.out, "\r\x1b[K")
	}
}
