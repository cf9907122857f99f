package subspace_test

import (
	"fmt"

	"github.com/smolwc/smolwc/tuple"
	"github.com/smolwc/smolwc/tuple/subspace"
)

func Example() {
	fleet := subspace.New("fleet")
	flights := fleet.Sub("flight")

	key, err := flights.Pack(tuple.Tuple{"N223AG", 2008})
	if err != nil {
		panic(err)
	}
	fmt.Println(fleet.Contains(key), flights.Contains(key), fleet.Sub("plane").Contains(key))

	inFleet, _ := fleet.Unpack(key)
	inFlights, _ := flights.Unpack(key)
	fmt.Println(inFleet, inFlights)

	_, err = fleet.Sub("plane").Unpack(key)
	fmt.Println(err)
	// Output:
	// true true false
	// ("flight", "N223AG", 2008) ("N223AG", 2008)
	// key is not in subspace x'02666c6565740002706c616e6500': x'02666c6565740002666c6967687400024e3232334147001607d8'
}

func ExampleSubspace_Range() {
	begin, end := subspace.New("tenant-1", 42).Range()
	fmt.Printf("%x\n%x\n", begin, end)
	// Output:
	// 0274656e616e742d3100152a00
	// 0274656e616e742d3100152aff
}
