package node_test

import (
	"strings"
	"testing"
)

// These are the four tests of Rhino's tests/main.py, message by message. They wait for
// replication where those sleep for two seconds.

func TestRhinoLogin(t *testing.T) {
	c := newCluster(t)
	c.all()
	for _, region := range []string{eu, us} {
		c.direct(region).want(`{"GetTenantIdByToken":{"token":"test_token"}}`, `"InvalidToken"`)
	}
	c.front(eu).want(`{"Login":{"token":"test_token"}}`, `"InvalidToken"`)
	c.direct(control).want(`{"AddGlobalTenant":{"tenant_id":"test_tenant","token":"test_token"}}`, `"GlobalTenantAdded"`)
	for _, region := range []string{eu, us} {
		c.direct(region).soon(`{"GetTenantIdByToken":{"token":"test_token"}}`, `{"TenantIdByToken":{"tenant_id":"test_tenant"}}`)
	}
	c.front(eu).want(`{"Login":{"token":"test_token"}}`, `{"LoggedIn":{"region":"eu-west-2"}}`)
}

func TestRhinoRouting(t *testing.T) {
	c := newCluster(t)
	c.all()
	for _, where := range []string{eu, us, control} {
		c.direct(where).want(`{"GetShardRegion":{"tenant_id":"test_tenant","shard_name":"test_shard"}}`, `"ShardNotFound"`)
	}
	c.tenant("test_tenant", "test_token", eu)
	client := c.login(eu, "test_token")
	client.want(`{"CreateShard":{"name":"test_shard","region":"us-east-2"}}`, `"ShardCreated"`)
	for _, region := range []string{eu, us} {
		client.want(`{"CreateShard":{"name":"test_shard","region":"`+region+`"}}`, `"ShardAlreadyExists"`)
	}
	c.located("test_tenant", "test_shard", us, eu, us, control)
}

func TestRhinoSchema(t *testing.T) {
	c := newCluster(t)
	c.all()
	for _, where := range []string{eu, us, control} {
		c.direct(where).want(`{"GetTableSchema":{"tenant_id":"test_tenant","table_name":"test_table"}}`, `"TableNotFound"`)
	}
	c.tenant("test_tenant", "test_token", eu)
	client := c.front(eu)
	client.want(`{"CreateTable":{"name":"test_table","pk":["first","second"]}}`, `"NotLoggedIn"`)
	client.want(`{"Login":{"token":"test_token"}}`, `{"LoggedIn":{"region":"eu-west-2"}}`)
	client.want(`{"CreateTable":{"name":"test_table","pk":["first","second"]}}`, `"TableCreated"`)
	client.want(`{"CreateTable":{"name":"test_table","pk":["second","first"]}}`, `"TableAlreadyExists"`)
	c.described("test_tenant", "test_table", `["first","second"]`, eu, us, control)
}

// A step is a request and its reply. In its texts ROW is a row, OTHER one that does not
// exist, and TENANT the field tenant_id of requests to regions.
type step struct{ request, reply string }

func TestRhinoGetSet(t *testing.T) {
	c := newCluster(t)
	c.all()
	c.tenant("test_tenant", "test_token", eu)
	client := c.login(eu, "test_token")
	client.want(`{"CreateTable":{"name":"test_table","pk":["first","second"]}}`, `"TableCreated"`)
	c.described("test_tenant", "test_table", `["first","second"]`, eu, us)

	row := `{"first":{"String":"third_value"},"second":{"String":"forth_value"},"something_else":{"U64":5678}}`
	client.steps(row, "", []step{
		{`{"SetRow":{"shard_name":"test_shard","table_name":"test_table","row":ROW}}`, `"ShardNotFound"`},
		{`{"SetRow":{"shard_name":"test_shard","table_name":"invalid_table","row":ROW}}`, `"TableNotFound"`},
		{`{"CreateShard":{"name":"test_shard","region":"us-east-2"}}`, `"ShardCreated"`},
		{`{"SetRow":{"shard_name":"test_shard","table_name":"test_table","row":{}}}`, `{"MissingPkValue":{"component":"first"}}`},
		{`{"SetRow":{"shard_name":"test_shard","table_name":"test_table","row":ROW}}`, `"SetRowCompleted"`},
		{`{"GetRow":{"shard_name":"test_shard","table_name":"invalid_table","pk":ROW}}`, `"TableNotFound"`},
		{`{"GetRow":{"shard_name":"test_shard","table_name":"test_table","pk":{}}}`, `{"MissingPkValue":{"component":"first"}}`},
		{`{"GetRow":{"shard_name":"test_shard","table_name":"test_table","pk":ROW}}`, `{"RowFound":{"row":ROW}}`},
		{`{"GetRow":{"shard_name":"test_shard","table_name":"test_table","pk":OTHER}}`, `"RowNotFound"`},
	})

	row = `{"first":{"String":"first_value"},"second":{"String":"second_value"},"something_else":{"U64":1234}}`
	for _, region := range []string{eu, us} {
		c.direct(region).steps(row, `"tenant_id":"test_tenant"`, []step{
			{`{"SetRow":{"tenant_id":"invalid_tenant","shard_name":"test_shard","table_name":"test_table","row":ROW}}`, `"TableNotFound"`},
			{`{"SetRow":{TENANT,"shard_name":"test_shard","table_name":"invalid_table","row":ROW}}`, `"TableNotFound"`},
			{`{"SetRow":{TENANT,"shard_name":"test_shard","table_name":"test_table","row":{}}}`, `{"MissingPkValue":{"component":"first"}}`},
			{`{"SetRow":{TENANT,"shard_name":"test_shard","table_name":"test_table","row":ROW}}`, `"SetRowCompleted"`},
			{`{"GetRow":{"tenant_id":"invalid_tenant","shard_name":"test_shard","table_name":"test_table","pk":ROW}}`, `"TableNotFound"`},
			{`{"GetRow":{TENANT,"shard_name":"test_shard","table_name":"invalid_table","pk":ROW}}`, `"TableNotFound"`},
			{`{"GetRow":{TENANT,"shard_name":"test_shard","table_name":"test_table","pk":{}}}`, `{"MissingPkValue":{"component":"first"}}`},
			{`{"GetRow":{TENANT,"shard_name":"test_shard","table_name":"test_table","pk":ROW}}`, `{"RowFound":{"row":ROW}}`},
			{`{"GetRow":{TENANT,"shard_name":"test_shard","table_name":"test_table","pk":OTHER}}`, `"RowNotFound"`},
		})
	}
}

func (c *conn) steps(row, tenant string, steps []step) {
	c.t.Helper()
	other := strings.Replace(row, `{"first":{"String":"`, `{"first":{"String":"non_existing_`, 1)
	fill := strings.NewReplacer("ROW", row, "OTHER", other, "TENANT", tenant)
	for _, s := range steps {
		c.want(fill.Replace(s.request), fill.Replace(s.reply))
	}
}
