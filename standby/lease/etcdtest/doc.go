// Package etcdtest tests failover with a real etcd. It is a module of its own since it
// needs etcd's server: make failover-test.
package etcdtest
