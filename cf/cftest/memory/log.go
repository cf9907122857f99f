package memory

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/smolwc/smolwc/cf"
)

// A commitLog is the log of commits, as far as they have notes.
type commitLog struct {
	kept    bool
	begin   cf.Position // all commits after it are in the log
	commits []loggedCommit
}

type loggedCommit struct {
	cf.Commit
	ids map[string]int // of its families
}

// add adds the commit that made a state.
func (l *commitLog) add(b *cf.Batch, before cf.Position, s *state) {
	if !l.kept || b.Notes() == 0 {
		return
	}
	c := loggedCommit{cf.Commit{Before: before, At: s.at}, map[string]int{}}
	for i := range b.Ops() {
		op := &b.Ops()[i]
		if op.Kind == cf.OpPutMeta || op.Kind == cf.OpDeleteMeta {
			continue
		}
		c.Ops = append(c.Ops, cf.LoggedOp{Kind: op.Kind, Family: op.Family, Key: bytes.Clone(b.Key(op)), Value: bytes.Clone(b.Value(op))})
		if op.Family != "" {
			c.ids[op.Family] = s.families[op.Family].id
		}
	}
	l.commits = append(l.commits, c)
}

// after is the index of the first commit after a position.
func (l *commitLog) after(at cf.Position) int {
	i, _ := slices.BinarySearchFunc(l.commits, at+1, func(c loggedCommit, p cf.Position) int { return cmp.Compare(c.At, p) })
	return i
}

// known is a copy of the commit, without changes of families that have been dropped.
func (c *loggedCommit) known(s *state) *cf.Commit {
	k := &cf.Commit{Before: c.Before, At: c.At}
	for _, op := range c.Ops {
		if op.Family == "" || s.families[op.Family].id == c.ids[op.Family] {
			op.Key, op.Value = bytes.Clone(op.Key), bytes.Clone(op.Value)
			k.Ops = append(k.Ops, op)
		}
	}
	return k
}
