package directory_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/smolwc/smolwc/directory"
	"github.com/smolwc/smolwc/query"
)

// update is Update that tries again after MaxTxAttempts.
func update(db *query.DB, fn func(tx *query.Tx) error) error {
	for {
		if err := db.Update(ctx, fn); query.KindOf(err) != query.KindConflict {
			return err
		}
	}
}

// together runs fn in n goroutines at once.
func together(t *testing.T, n int, fn func(i int) error) {
	t.Helper()
	var all sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		all.Go(func() { errs[i] = fn(i) })
	}
	all.Wait()
	must(t, errors.Join(errs...))
}

// Goroutines that create the same directories at the same time, each with its own root
// as in separate processes, get one prefix for each directory, and no prefix twice.
func TestRacingCreations(t *testing.T) {
	const goroutines, directories = 12, 8
	db := open(t)
	var mu sync.Mutex
	prefixOf, pathOf := map[string]string{}, map[string]string{}
	together(t, goroutines, func(i int) error {
		root := directory.New(withData)
		for j := range directories {
			at := fmt.Sprint("shared/", (i+j)%directories)
			if j == 0 {
				at = fmt.Sprint("own/", i)
			}
			var made *directory.Directory
			if err := update(db, func(tx *query.Tx) (err error) {
				made, err = root.CreateOrOpen(ctx, tx, path(at), nil)
				return err
			}); err != nil {
				return err
			}
			space, err := made.Subspace()
			if err != nil {
				return err
			}
			mu.Lock()
			if old, ok := prefixOf[at]; ok && old != space.String() {
				t.Errorf("%s has the prefixes %s and %s", at, old, space)
			}
			if old, ok := pathOf[space.String()]; ok && old != at {
				t.Errorf("%s is the prefix of %s and of %s", space, old, at)
			}
			prefixOf[at], pathOf[space.String()] = space.String(), at
			mu.Unlock()
		}
		return nil
	})
}

// Goroutines that create one path in one transaction get one directory.
func TestRacingCreationsInOneTransaction(t *testing.T) {
	db := open(t)
	var made [8]*directory.Directory
	must(t, db.Update(ctx, func(tx *query.Tx) error {
		together(t, len(made), func(i int) (err error) {
			made[i], err = directory.New(withData).CreateOrOpen(ctx, tx, path("a/b"), nil)
			return err
		})
		return nil
	}))
	for _, d := range made {
		if d.String() != made[0].String() {
			t.Errorf("got %v and %v", made[0], d)
		}
	}
	if got := len(state(t, db, "directories", "d")); got != 2+2+1+1+2 { // entries, layers, version, counter, numbers
		t.Errorf("the table has %d rows", got)
	}
}

// A path that is created twice inside a scan is created once or refused.
func TestCreationsInsideAScan(t *testing.T) {
	db, root := open(t), directory.New(withData)
	create(t, db, root, "x", "")
	err := db.Update(ctx, func(tx *query.Tx) error {
		for _, err := range tx.ReadRows(ctx, "directories") {
			if err != nil {
				return err
			}
			if _, err := root.CreateOrOpen(ctx, tx, path("a"), nil); err != nil {
				return err
			}
		}
		return nil
	})
	if query.KindOf(err) != query.KindFailedPrecondition {
		t.Errorf("got %v", err)
	}
	if got := list(t, db, root, ""); got != "x" {
		t.Errorf("the root has %q", got)
	}
}

// Many goroutines allocate through several windows: no number comes twice.
func TestAllocatorUnderContention(t *testing.T) {
	const goroutines, each = 8, 40
	db := open(t)
	var mu sync.Mutex
	seen := map[string]bool{}
	together(t, goroutines, func(int) error {
		for range each {
			var number string
			if err := update(db, func(tx *query.Tx) (err error) {
				number, err = directory.Allocate(ctx, tx, directory.Options{}, "\xaa")
				return err
			}); err != nil {
				return err
			}
			mu.Lock()
			if seen[number] {
				t.Errorf("%x came twice", number)
			}
			seen[number] = true
			mu.Unlock()
		}
		return nil
	})
	for number := range seen {
		if len(number) > 3 {
			t.Errorf("%x is longer than it has to be", number)
		}
	}
}

// A transaction that allocates commits although others have allocated other numbers
// since it began.
func TestAllocationsDoNotConflict(t *testing.T) {
	db := open(t)
	o := directory.WithPick(directory.Options{}, lowest())
	allocate := func(tx *query.Tx) error {
		_, err := directory.Allocate(ctx, tx, o, "\xaa")
		return err
	}
	runs := 0
	must(t, db.Update(ctx, func(tx *query.Tx) error {
		runs++
		return errors.Join(allocate(tx), db.Update(ctx, allocate))
	}))
	if runs != 1 {
		t.Errorf("it ran %d times", runs)
	}
}

// Creations of different directories with one parent do not conflict either.
func TestCreationsDoNotConflict(t *testing.T) {
	db := open(t)
	root := directory.New(directory.WithPick(withData, lowest()))
	create(t, db, root, "a", "")
	runs := 0
	must(t, db.Update(ctx, func(tx *query.Tx) error {
		runs++
		_, err := root.Create(ctx, tx, path("a/b"), nil)
		return errors.Join(err, db.Update(ctx, func(tx *query.Tx) error {
			_, err := root.Create(ctx, tx, path("a/c"), nil)
			return err
		}))
	}))
	if got := list(t, db, root, "a"); runs != 1 || got != "b c" {
		t.Errorf("it ran %d times; there are %q", runs, got)
	}
}

// Of two transactions that draw one number, the second draws again.
func TestTheSameNumberIsDrawnOnce(t *testing.T) {
	db := open(t)
	draws := []int64{7, 7, 7, 9} // inner, outer, and the outer's next run
	o := directory.WithPick(directory.Options{}, func(int64, int64) int64 {
		n := draws[0]
		draws = draws[1:]
		return n
	})
	var outer, inner string
	first := true
	must(t, db.Update(ctx, func(tx *query.Tx) (err error) {
		if outer, err = directory.Allocate(ctx, tx, o, "\xaa"); err != nil || !first {
			return err
		}
		first = false
		return db.Update(ctx, func(tx *query.Tx) (err error) {
			inner, err = directory.Allocate(ctx, tx, o, "\xaa")
			return err
		})
	}))
	if inner == outer || len(draws) != 0 {
		t.Errorf("both have %x; %d draws are left", outer, len(draws))
	}
}

// If a directory is created while its parent is removed, either it is removed too, or
// the creation fails.
func TestCreationBelowARemovedDirectory(t *testing.T) {
	db, root := open(t), directory.New(withData)
	a := create(t, db, root, "a", "")
	first := true
	err := db.Update(ctx, func(tx *query.Tx) error {
		_, err := a.Create(ctx, tx, path("b"), nil)
		if err != nil || !first {
			return err
		}
		first = false
		return db.Update(ctx, func(tx *query.Tx) error {
			_, err := root.Remove(ctx, tx, path("a"))
			return err
		})
	})
	wantError(t, err, directory.ErrStale, query.KindFailedPrecondition)
	if got := list(t, db, root, ""); got != "" {
		t.Errorf("the root has %q", got)
	}
}

// A full window does not block the allocator, even if its counter is 0.
func TestAFullWindowMovesUp(t *testing.T) {
	db := open(t)
	for n := range int64(64) {
		put(t, db, "directories", "\xaa"+tupleKey(1, n))
	}
	must(t, db.Update(ctx, func(tx *query.Tx) error {
		number, err := directory.Allocate(ctx, tx, directory.Options{}, "\xaa")
		if number < tupleKey(int64(64)) {
			t.Errorf("got %x", number)
		}
		return err
	}))
}
