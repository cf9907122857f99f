package directory_test

import (
	"context"
	"fmt"
	"log"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/directory"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

func openTenants() *query.DB {
	declared, err := schema.Parse([]byte(`
tables:
  - name: directories
    families:
      - {name: d, type: bytes, max_versions: 1}
  - name: users
    families:
      - {name: profile, max_versions: 1}
`))
	if err != nil {
		log.Fatal(err)
	}
	db, err := query.OpenInMemory(query.Options{Schema: declared})
	if err != nil {
		log.Fatal(err)
	}
	return db
}

// Each tenant is a directory with rows. A tenant can be renamed without a change of the
// rows.
func Example() {
	db := openTenants()
	defer db.Close()
	ctx := context.Background()
	dirs := directory.New(directory.Options{Data: []string{"users"}})

	addUser := func(tenant, user string) error {
		return db.Update(ctx, func(tx *query.Tx) error {
			dir, err := dirs.CreateOrOpen(ctx, tx, []string{"tenants", tenant}, nil)
			if err != nil {
				return err
			}
			key, err := dir.Key("user", user)
			if err != nil {
				return err
			}
			m := write.NewMutation()
			m.Set("profile", "name", cells.String(user))
			return tx.Apply(ctx, "users", key, m)
		})
	}
	for _, u := range [][2]string{{"acme", "ada"}, {"acme", "grace"}, {"globex", "alan"}} {
		if err := addUser(u[0], u[1]); err != nil {
			log.Fatal(err)
		}
	}

	var acme *directory.Directory
	err := db.Update(ctx, func(tx *query.Tx) (err error) {
		acme, err = dirs.Move(ctx, tx, []string{"tenants", "acme"}, []string{"tenants", "initech"})
		if err != nil {
			return err
		}
		names, err := dirs.List(ctx, tx, []string{"tenants"})
		fmt.Println(names)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	for row, err := range db.Table("users").ReadRows(ctx, acme.Rows()) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(row.Text("profile", "name"))
	}
	// Output:
	// [globex initech]
	// ada
	// grace
}

// A directory that was removed is gone with its rows. An old handle of it does not
// bring it back.
func ExampleDirectory_Remove() {
	db := openTenants()
	defer db.Close()
	ctx := context.Background()
	dirs := directory.New(directory.Options{Data: []string{"users"}})

	err := db.Update(ctx, func(tx *query.Tx) error {
		tenant, err := dirs.Create(ctx, tx, []string{"tenants", "acme"}, nil)
		if err != nil {
			return err
		}
		removed, err := dirs.Remove(ctx, tx, []string{"tenants"})
		fmt.Println(removed, err)
		_, err = tenant.CreateOrOpen(ctx, tx, []string{"archive"}, nil)
		fmt.Println(err)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// true <nil>
	// create or open directory "tenants/acme/archive": the directory was moved or removed; open it again by its path
}
