// Package etcdtest has the tests of failover with a real etcd, which is a module of its own
// since it needs etcd's server: make failover-test.
package etcdtest
