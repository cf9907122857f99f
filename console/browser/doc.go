// Package browser is empty: its tests drive the console in a real browser. It is a
// module of its own, so that smolwc does not depend on the driver.
package browser
