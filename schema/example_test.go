package schema_test

import (
	"fmt"
	"time"

	"github.com/smolwc/smolwc/schema"
)

func ExampleParse() {
	s, err := schema.Parse([]byte(`
tables:
  - name: fleet
    families:
      - {name: meta, max_versions: 1}
      - {name: delay, type: i32, max_age: 2w}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fleet, _ := s.Table("fleet")
	for _, f := range fleet.Families {
		fmt.Println(f)
	}
	// Output:
	// meta max_versions=1
	// delay type=i32 max_age=2w
}

// Every fault is listed, with its line and its path.
func ExampleParse_faults() {
	_, err := schema.Parse([]byte(`
tables:
  - name: fleet
    families:
      - {name: meta, max_version: 1}
      - {name: delay, type: i23, max_age: 2y}
`))
	fmt.Println(err)
	// Output:
	// line 5: tables[0](fleet).families[0](meta): unknown key "max_version"; did you mean "max_versions"?
	// line 6: tables[0](fleet).families[1](delay).type: unknown type "i23"; did you mean "i32"?
	// line 6: tables[0](fleet).families[1](delay).max_age: age "2y": unknown unit "y"; the units are w, d, h, m, s, ms, us
}

func ExampleRule_Limits() {
	r := schema.Any(
		schema.MaxVersions(3),
		schema.All(schema.MaxVersions(1), schema.MaxAge(30*24*time.Hour)),
	)
	fmt.Println(r)
	for _, l := range r.Limits() {
		fmt.Println(l.Versions, l.Age)
	}
	// Output:
	// any(max_versions=3, all(max_versions=1, max_age=30d))
	// 1 720h0m0s
	// 3 0s
}

func ExampleDiff() {
	existing := &schema.Schema{Tables: []schema.Table{{Name: "fleet", Families: []schema.Family{
		{Name: "meta", GC: schema.MaxVersions(1)},
		{Name: "old"},
	}}}}
	declared := &schema.Schema{Tables: []schema.Table{{Name: "fleet", Families: []schema.Family{
		{Name: "meta", GC: schema.MaxVersions(3)},
		{Name: "loc"},
	}}}}
	plan := schema.Diff(existing, declared)
	fmt.Print(plan)
	fmt.Println("and without drops:")
	fmt.Print(plan.WithoutDrops())
	// Output:
	// ~ family fleet/meta retention max_versions=1 -> max_versions=3
	// + family fleet/loc
	// - family fleet/old (drops its data)
	// and without drops:
	// ~ family fleet/meta retention max_versions=1 -> max_versions=3
	// + family fleet/loc
}
