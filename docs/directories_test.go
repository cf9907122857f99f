package docs_test

import (
	"context"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/directory"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

const directoriesPage = "docs/directories.md"

// addTenants declares the tables of the page, and another one, and has the tenants of
// its program and others. The prefixes are fixed, because the page shows them.
func addTenants(t *testing.T, db *query.DB) {
	t.Helper()
	declared, err := schema.Parse([]byte(strings.Join(blocks(t, directoriesPage, "yaml")[0].lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	declared.Tables = append(declared.Tables, schema.Table{Name: "orders", Families: []schema.Family{{Name: "item"}}})
	for _, table := range declared.Tables {
		if err := db.CreateTable(t.Context(), table); err != nil {
			t.Fatal(err)
		}
	}
	dirs := directory.New(directory.Options{Data: []string{"users", "orders"}, ManualPrefixes: true})
	err = db.Update(t.Context(), func(tx *query.Tx) error {
		for i, path := range []string{"tenants", "tenants/acme", "tenants/globex", "tenants/globex/archive"} {
			layer := map[bool][]byte{true: []byte("tenant")}[strings.Count(path, "/") == 1]
			if _, err := dirs.CreatePrefix(t.Context(), tx, strings.Split(path, "/"), layer, []byte{0x15, byte(i + 1)}); err != nil {
				return err
			}
		}
		return addAda(t.Context(), tx, dirs)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// addAda adds the row of the page's program, and an order.
func addAda(ctx context.Context, tx *query.Tx, dirs *directory.Directory) error {
	acme, err := dirs.Open(ctx, tx, []string{"tenants", "acme"}, nil)
	if err != nil {
		return err
	}
	for _, c := range []struct{ table, key, family, qualifier, value string }{
		{"users", "user", "profile", "name", "Ada"}, {"orders", "order", "item", "what", "rope"},
	} {
		key, err := acme.Key(c.key, 7)
		if err != nil {
			return err
		}
		m := write.NewMutation()
		m.Set(c.family, c.qualifier, cells.String(c.value))
		if err := tx.Apply(ctx, c.table, key, m); err != nil {
			return err
		}
	}
	return nil
}
