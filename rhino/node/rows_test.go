package node_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/rhino"
	"github.com/smolwc/smolwc/rhino/node"
)

// prepared makes a tenant with a shard in each region and a table, and gives its client.
func prepared(t testing.TB, c *cluster, pk string) *conn {
	t.Helper()
	c.tenant("acme", "token", eu, us, asia)
	client := c.login(eu, "token")
	client.want(`{"CreateTable":{"name":"notes","pk":`+pk+`}}`, `"TableCreated"`)
	for _, region := range []string{eu, us, asia} {
		client.want(`{"CreateShard":{"name":"in `+region+`","region":"`+region+`"}}`, `"ShardCreated"`)
	}
	c.described("acme", "notes", pk, eu, us, asia)
	for _, region := range []string{eu, us, asia} {
		c.located("acme", "in "+region, region, eu, us, asia)
	}
	return client
}

// about puts the columns of a row into a request about a row of a shard.
func about(request, region, field, columns string) string {
	return fmt.Sprintf(`{"%s":{"shard_name":"in %s","table_name":"notes","%s":%s}}`, request, region, field, columns)
}

// A set merges; each type comes back as it was; a delete removes the row. All of that in
// the front's own region and in others, from every front.
func TestRowsOfAllRegionsAtAllFronts(t *testing.T) {
	c := newCluster(t)
	c.all()
	prepared(t, c, `["id"]`)
	all := `{"id":{"U64":1},"u":{"U64":18446744073709551615},"i":{"I64":7},"j":{"I32":-1},"b":{"Byte":255},"t":{"Bool":true},` +
		`"f":{"F32":0.5},"d":{"F64":1e300},"n":{"F64":"NaN"},"s":{"String":"a < b"},"x":{"Bytes":"AP8="}}`
	for n, front := range []string{eu, us, asia} {
		client := c.login(front, "token")
		for _, region := range []string{eu, us, asia} {
			id := fmt.Sprintf(`{"id":{"U64":%d}}`, n)
			row := strings.Replace(all, `{"U64":1}`, fmt.Sprintf(`{"U64":%d}`, n), 1)
			client.want(about("GetRow", region, "pk", id), `"RowNotFound"`)
			client.want(about("DeleteRow", region, "pk", id), `"DeleteRowCompleted"`)
			client.want(about("SetRow", region, "row", row), `"SetRowCompleted"`)
			client.want(about("GetRow", region, "pk", id), `{"RowFound":{"row":`+row+`}}`)
			client.want(about("SetRow", region, "row", strings.Replace(id, "}}", `},"i":{"U64":7},"u":{"I64":-1}}`, 1)), `"SetRowCompleted"`)
			merged := strings.NewReplacer(`{"I64":7}`, `{"U64":7}`, `{"U64":18446744073709551615}`, `{"I64":-1}`).Replace(row)
			client.want(about("GetRow", region, "pk", id), `{"RowFound":{"row":`+merged+`}}`)
			client.want(about("DeleteRow", region, "pk", id), `"DeleteRowCompleted"`)
			client.want(about("GetRow", region, "pk", id), `"RowNotFound"`)
		}
	}
}

// Rows of a prefix come in the order of their keys, page by page.
func TestRanges(t *testing.T) {
	c := newCluster(t)
	c.all()
	client := prepared(t, c, `["place","n"]`)
	for _, place := range []string{"a", "a\x00", "ab", "b"} {
		for n := range 5 {
			id, _ := json.Marshal(place)
			client.want(about("SetRow", us, "row", fmt.Sprintf(`{"place":{"String":%s},"n":{"I64":%d}}`, id, 10*(n-2))), `"SetRowCompleted"`)
		}
	}
	read := func(prefix string, limit int) (keys []string, pages int) {
		for after := ""; ; pages++ {
			var reply struct{ RowsFound rhino.RowsFound }
			text := client.call(fmt.Sprintf(`{"GetRows":{"shard_name":"in us-east-2","table_name":"notes","prefix":%s,"limit":%d,"after":%q}}`, prefix, limit, after))
			if err := json.Unmarshal([]byte(text), &reply); err != nil || len(reply.RowsFound.Rows) > limit {
				t.Fatalf("%s, %v", text, err)
			}
			for _, row := range reply.RowsFound.Rows {
				keys = append(keys, fmt.Sprintf("%q %v", row["place"], row["n"]))
			}
			if after = reply.RowsFound.Next; after == "" || len(keys) > 100 {
				return keys, pages + 1
			}
		}
	}
	a := []string{`"a" -20`, `"a" -10`, `"a" 0`, `"a" 10`, `"a" 20`}
	for _, limit := range []int{1, 2, 5, 100} {
		if got, pages := read(`{"place":{"String":"a"}}`, limit); !slices.Equal(got, a) || pages != (len(a)+limit-1)/limit {
			t.Errorf("limit %d: %q in %d pages", limit, got, pages)
		}
	}
	if got, _ := read(`{"place":{"String":"a"},"n":{"U64":10}}`, 10); !slices.Equal(got, a[3:4]) {
		t.Errorf("a whole key: %q", got)
	}
	if got, _ := read(`{}`, 7); len(got) != 20 || !slices.Equal(got[:5], a) {
		t.Errorf("everything: %q", got)
	}
	for request, want := range map[string]string{
		`"shard_name":"in us-east-2","table_name":"notes","prefix":{"n":{"I64":0}}`: `{"MissingPkValue":{"component":"place"}}`,
		`"shard_name":"in us-east-2","table_name":"none"`:                           `"TableNotFound"`,
		`"shard_name":"none","table_name":"notes"`:                                  `"ShardNotFound"`,
		`"shard_name":"in ap-south-1","table_name":"notes"`:                         `{"RowsFound":{"rows":[],"next":""}}`,
		`"shard_name":"in us-east-2","table_name":"notes","limit":1001`:             `{"InvalidRequest":{"reason":"limit is 1001; want 1 to 1000, or 0 for 100"}}`,
		`"shard_name":"in us-east-2","table_name":"notes","after":"*"`:              `{"InvalidRequest":{"reason":"after is not from a RowsFound"}}`,
		`"shard_name":"in us-east-2","table_name":"notes","prefix":{"x":{"I64":0}}`: `{"InvalidRequest":{"reason":"prefix has the column \"x\"; the key is place, n"}}`,
		`"shard_name":"in us-east-2","table_name":"notes","tenant_id":"other"`:      `{"InvalidRequest":{"reason":"tenant_id and forwarded are not for clients: the tenant is that of the login"}}`,
	} {
		client.want(`{"GetRows":{`+request+`}}`, want)
	}
}

// Tenants do not see each other's rows, tables and shards, whatever their names are.
func TestTenantsAreApart(t *testing.T) {
	c := newCluster(t)
	c.all()
	prepared(t, c, `["id"]`)
	c.tenant("other", "other token", eu)
	mine, other := c.login(eu, "token"), c.login(eu, "other token")
	mine.want(about("SetRow", eu, "row", `{"id":{"U64":1},"v":{"String":"mine"}}`), `"SetRowCompleted"`)
	other.want(about("GetRow", eu, "pk", `{"id":{"U64":1}}`), `"TableNotFound"`)
	other.want(`{"CreateTable":{"name":"notes","pk":["id"]}}`, `"TableCreated"`)
	other.want(about("GetRow", eu, "pk", `{"id":{"U64":1}}`), `"ShardNotFound"`)
	other.want(`{"CreateShard":{"name":"in eu-west-2","region":"eu-west-2"}}`, `"ShardCreated"`)
	other.want(about("GetRow", eu, "pk", `{"id":{"U64":1}}`), `"RowNotFound"`)
	other.want(about("GetRows", eu, "prefix", `{}`), `{"RowsFound":{"rows":[],"next":""}}`)
}

// What Rhino answered wrongly, or not at all.
func TestRhinosFaultsAreNotCopied(t *testing.T) {
	c := newCluster(t)
	c.all()
	client := prepared(t, c, `["a,b","c"]`)
	ctl := c.direct(control)
	for _, s := range []step{
		{`{"AddGlobalTenant":{"tenant_id":"acme","token":"token"}}`, `"GlobalTenantAdded"`},
		{`{"AddGlobalTenant":{"tenant_id":"thief","token":"token"}}`, `"TokenConflict"`},
		{`{"RemoveGlobalToken":{"token":"unknown"}}`, `"InvalidToken"`},
		{`{"AddShardToGlobalRouting":{"tenant_id":"acme","shard_name":"s","region":"mars"}}`, `"RegionNotFound"`},
		{`{"AddShardToGlobalRouting":{"tenant_id":"acme","shard_name":"s","region":"control"}}`, `"RegionNotFound"`},
		{`{"AddGlobalTableSchema":{"tenant_id":"acme","table_name":"t","pk":[]}}`, `{"InvalidRequest":{"reason":"pk has 0 columns; want 1 to 16"}}`},
		{`{"AddGlobalTableSchema":{"tenant_id":"acme","table_name":"t","pk":["a","a"]}}`, `{"InvalidRequest":{"reason":"pk has the column \"a\" twice"}}`},
		{`{"AddGlobalTenant":{"tenant_id":"","token":"x"}}`, `{"InvalidRequest":{"reason":"tenant_id is empty"}}`},
		{`{"Login":{"token":"token"}}`, `{"InvalidRequest":{"reason":"the control does not take Login"}}`},
		{`{"SeedRegion":{"region":"mars"}}`, `"RegionNotFound"`},
	} {
		ctl.want(s.request, s.reply)
	}
	for _, s := range []step{
		{`{"Login":{"token":"token"}}`, `"AlreadyLoggedIn"`},
		{`{"Login":{"token":"unknown"}}`, `"AlreadyLoggedIn"`},
		{about("GetRow", eu, "pk", `{"a,b":{"U64":1}}`), `{"MissingPkValue":{"component":"c"}}`},
		{about("SetRow", eu, "row", `{"a,b":{"U64":1},"c":{"String":"x"},"":{"U64":1}}`), `{"InvalidRequest":{"reason":"the name of a column is empty"}}`},
		{`{"AddGlobalTenant":{"tenant_id":"acme","token":"more"}}`, `{"InvalidRequest":{"reason":"a front does not take AddGlobalTenant"}}`},
		{`{"CreateShard":{"name":"x","region":"mars"}}`, `"RegionNotFound"`},
		{`"RowNotFound"`, `{"InvalidRequest":{"reason":"a front does not take RowNotFound"}}`},
		{`{"Nonsense":{}}`, `{"InvalidRequest":{"reason":"there is no message \"Nonsense\""}}`},
		{`{"SetRow":{"shard_name":"in eu-west-2","table_name":"notes","row":{"a,b":{"U64":1},"c":{"String":"` + strings.Repeat("x", 5000) + `"}}}}`, ``},
	} {
		if s.reply == "" {
			if got := client.call(s.request); !strings.Contains(got, "InvalidRequest") {
				t.Errorf("a key that is too long: %s", got)
			}
			continue
		}
		client.want(s.request, s.reply)
	}
}

// A token that was removed is invalid everywhere, and may be given to another tenant.
func TestTokensAreRemoved(t *testing.T) {
	c := newCluster(t)
	c.all()
	c.tenant("acme", "token", eu, us, asia)
	ctl := c.direct(control)
	ctl.want(`{"RemoveGlobalToken":{"token":"token"}}`, `"GlobalTokenRemoved"`)
	for _, region := range []string{eu, us, asia} {
		c.direct(region).soon(`{"GetTenantIdByToken":{"token":"token"}}`, `"InvalidToken"`)
		c.front(region).want(`{"Login":{"token":"token"}}`, `"InvalidToken"`)
	}
	ctl.want(`{"RemoveGlobalToken":{"token":"token"}}`, `"InvalidToken"`)
	c.tenant("other", "token", eu, us, asia)
}

// A region keeps the latest version of a fact, in whatever order versions come.
func TestFactsDoNotGoBack(t *testing.T) {
	c := newCluster(t)
	c.start(c.Config, node.Options{Roles: []node.Role{node.RegionRole}, Regions: []string{eu}})
	region := c.direct(eu)
	add := func(tenant string, version int, removed bool) {
		region.want(fmt.Sprintf(`{"AddLocalTenant":{"tenant_id":%q,"token":"t","version":%d,"removed":%t}}`, tenant, version, removed), `"LocalTenantAdded"`)
	}
	is := func(want string) {
		t.Helper()
		region.want(`{"GetTenantIdByToken":{"token":"t"}}`, want)
	}
	add("by hand", 0, false)
	is(`{"TenantIdByToken":{"tenant_id":"by hand"}}`)
	add("three", 3, false)
	add("one", 1, false)
	add("by hand", 0, false)
	is(`{"TenantIdByToken":{"tenant_id":"three"}}`)
	add("-", 4, true)
	add("three", 3, false)
	is(`"InvalidToken"`)
	add("five", 5, false)
	add("-", 4, true)
	is(`{"TenantIdByToken":{"tenant_id":"five"}}`)
}
