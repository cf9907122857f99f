package transfer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A header is the fields of a file, in their order.
type header struct {
	names []string          // no two are equal, and none is empty
	read  []string          // as in the file, but for empty ones
	twice map[string][2]int // the first two fields of a name that several have
}

// find returns the index of a field by its name, or by its place, as in #2; -1: the
// file lacks it.
func (h header) find(name string) (int, error) {
	if at := slices.Index(h.names, name); at >= 0 {
		return at, nil
	}
	if of, twice := h.twice[name]; twice {
		return -1, fmt.Errorf("the header has field %s twice, as fields %d and %d; it is not clear which one is meant; write %s or %s",
			quote(name), of[0]+1, of[1]+1, h.names[of[0]], h.names[of[1]])
	}
	if place, ok := strings.CutPrefix(name, "#"); ok && isDigits(place) {
		if n, err := strconv.Atoi(place); err == nil && n >= 1 && n <= len(h.names) {
			return n - 1, nil
		}
	}
	return -1, nil
}

// newHeader gives a name to each field without one, column2 for the second, and to those
// with one name their places, #2 for the second field, unless a field is called so.
func newHeader(fields []string) header {
	h := header{names: slices.Clone(fields), read: slices.Clone(fields), twice: map[string][2]int{}}
	taken := map[string]int{}
	for i, name := range fields {
		if first, again := taken[name]; !again {
			taken[name] = i
		} else if _, known := h.twice[name]; !known && name != "" {
			h.twice[name] = [2]int{first, i}
		}
	}
	for i, name := range fields {
		if _, twice := h.twice[name]; name != "" && !twice {
			continue
		}
		name = "#" + strconv.Itoa(i+1)
		if alone := "column" + name[1:]; fields[i] == "" {
			if _, is := taken[alone]; !is {
				name = alone
			}
		}
		for is := true; is; {
			if _, is = taken[name]; is {
				name = "#" + name
			}
		}
		taken[name] = i
		if h.names[i] = name; fields[i] == "" {
			h.read[i] = name
		}
	}
	return h
}
