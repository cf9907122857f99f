package lease

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// A State is what etcd keeps from term to term.
type State struct {
	Database string `json:"database,omitempty"` // its identity, once a server with files led
	Term     int64  `json:"term"`               // grows each time the lease is taken
	Epoch    int64  `json:"epoch"`              // of the database, grows with each promotion
	Leader   string `json:"leader"`             // the server that led last
	Strict   bool   `json:"strict,omitempty"`   // its writes wait strictly
	// SyncStandby and those in Also are the standbys that have each write that was acknowledged, if
	// Strict: others are acknowledged only when all of these have them. They had all changes up
	// to After when they were named. An earlier smolwc knows only the first.
	SyncStandby string   `json:"heir,omitempty"`
	Also        []string `json:"also,omitempty"`
	After       uint64   `json:"after,omitempty"`
}

// syncStandbys are the synchronous standbys.
func (s *State) syncStandbys() []string {
	if s.SyncStandby == "" {
		return nil
	}
	return append([]string{s.SyncStandby}, s.Also...)
}

// setSyncStandbys names the synchronous standbys.
func (s *State) setSyncStandbys(names []string, after uint64) {
	s.SyncStandby, s.Also, s.After = "", nil, after
	if len(names) > 0 {
		s.SyncStandby, s.Also = names[0], slices.Clone(names[1:])
	}
}

// A Candidate is a server that may take the lease.
type Candidate struct {
	Standby, Primary bool   // the kind of its directory; neither: no database
	Database         string // its identity
	Epoch            int64  // of the database; 0 counts as 1
	Strict           bool   // its writes would wait strictly
	// Position returns the position of the newest change. It may be called at any time.
	Position func() uint64
}

// ErrForeign matches the error for a server with another database than the others.
var ErrForeign = errors.New("another database")

// eligible is nil if the server may take the lease when nobody holds it, else the reason why
// not. The state is nil if nobody led under the prefix yet.
func (s *State) eligible(name string, c Candidate) error {
	switch {
	case s == nil && c.Standby:
		return errors.New("nobody has led yet, and a standby does not begin; start its primary")
	case s == nil:
		return nil
	case s.Database != "" && c.Database != "" && s.Database != c.Database:
		return fmt.Errorf("%w: the directory has the database %s, and the servers of this prefix have %s, which %s has led last; name another prefix or another directory", ErrForeign, c.Database, s.Database, s.Leader)
	case !c.Standby && !c.Primary:
		return fmt.Errorf("the directory is empty, and %s has led the database", s.Leader)
	case max(c.Epoch, 1) > s.Epoch:
		return fmt.Errorf("the directory has epoch %d, and etcd knows of epochs up to %d alone, as when a backup of it was restored", max(c.Epoch, 1), s.Epoch)
	case c.Primary && name == s.Leader && max(c.Epoch, 1) == s.Epoch:
		return nil
	case c.Primary:
		return fmt.Errorf("the directory was a primary in epoch %d, and %s has led in epoch %d since", max(c.Epoch, 1), s.Leader, s.Epoch)
	case name == s.Leader: // its promotion did not end, so it acknowledged nothing
		return nil
	case s.Strict && !slices.Contains(s.syncStandbys(), name):
		return fmt.Errorf("only %s is sure to have each acknowledged write", s.sure())
	case s.Strict && c.Position() < s.After:
		return fmt.Errorf("the directory has changes up to position %d, and had them up to %d before", c.Position(), s.After)
	}
	return nil
}

// sure says which servers have each acknowledged write.
func (s *State) sure() string {
	return strings.Join(append([]string{s.Leader}, s.syncStandbys()...), " or ")
}

// next is the state when a server takes the lease.
func (s *State) next(name string, c Candidate) *State {
	n := &State{Term: 1, Epoch: max(c.Epoch, 1)}
	if s != nil {
		*n = *s
		n.Term++
	}
	if c.Database != "" {
		n.Database = c.Database
	}
	if c.Standby { // it will be promoted
		n.Epoch = max(n.Epoch, c.Epoch) + 1
	}
	if n.Leader != name || c.Standby || n.Strict != c.Strict {
		n.setSyncStandbys(nil, 0)
	}
	n.Leader, n.Strict = name, c.Strict
	return n
}

// follows reports whether a state is an earlier one or was written after it.
func (s *State) follows(before *State) bool {
	if s == nil || before == nil {
		return before == nil
	}
	return reflect.DeepEqual(s, before) || s.Term > before.Term
}
