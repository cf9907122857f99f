package nilcheck

import (
	"reflect"
	"testing"
)

// arguments makes the arguments of one function under test.
type arguments struct {
	t      testing.TB
	runner *runner
	usable map[reflect.Type]reflect.Value // made before
}

func (a *arguments) all(f function) []reflect.Value {
	var in []reflect.Value
	for typ := range f.call.Type().Ins() {
		in = append(in, a.use(typ))
	}
	return in
}

// use is a usable value of a type: the same one for all calls of the function, unless it
// must be fresh.
func (a *arguments) use(typ reflect.Type) reflect.Value {
	if v, ok := a.makeBy(a.runner.Fresh, typ); ok {
		return v
	}
	if _, ok := a.usable[typ]; !ok {
		a.usable[typ] = a.make(typ)
	}
	return a.usable[typ]
}

func (a *arguments) make(typ reflect.Type) reflect.Value {
	if v, ok := a.makeBy(a.runner.Usable, typ); ok {
		return v
	}
	v := reflect.New(typ).Elem()
	switch typ.Kind() {
	case reflect.String:
		v.SetString("t")
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(1)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Slice:
		return slicesOf(typ, a.use(typ.Elem()))
	case reflect.Func:
		return reflect.MakeFunc(typ, func([]reflect.Value) (out []reflect.Value) { // does nothing
			for t := range typ.Outs() {
				out = append(out, reflect.Zero(t))
			}
			return out
		})
	case reflect.Pointer:
		if typ.Elem().Kind() != reflect.Struct || a.runner.isOwn(typ) {
			v.Set(reflect.New(typ.Elem()))
		}
	case reflect.Interface:
		if own := a.zeros(typ); len(own) > 0 {
			return own[0]
		}
	}
	return v
}

func (a *arguments) makeBy(makers []any, typ reflect.Type) (v reflect.Value, ok bool) {
	for _, maker := range makers {
		if f := reflect.ValueOf(maker); f.Type().Out(0) == typ {
			return f.Call([]reflect.Value{reflect.ValueOf(a.t)})[0], true
		}
	}
	return v, false
}

// spoilt are the values of a type that stand in for a usable one.
func (a *arguments) spoilt(typ reflect.Type) (all []reflect.Value) {
	switch typ.Kind() {
	case reflect.Slice:
		all = append(all, reflect.Zero(typ))
		for _, v := range a.spoilt(typ.Elem()) {
			all = append(all, slicesOf(typ, v, a.use(typ.Elem())))
		}
	case reflect.Pointer, reflect.Interface, reflect.Func, reflect.Map, reflect.Chan, reflect.Struct:
		all = append(append(all, reflect.Zero(typ)), a.zeros(typ)...)
		if typ.Kind() == reflect.Interface && typ.NumMethod() == 0 {
			return all // any value is accepted
		}
		for _, made := range a.runner.made {
			for _, v := range made {
				if v.Type().AssignableTo(typ) {
					all = append(all, v)
				}
			}
		}
	default:
		if a.runner.isOwn(typ) {
			all = append(all, reflect.Zero(typ))
		}
	}
	return all
}

// zeros are a pointer to the zero value of a type of the package, and of an interface the zero values of all
// types of the package that have it.
func (a *arguments) zeros(typ reflect.Type) (all []reflect.Value) {
	switch {
	case typ.Kind() == reflect.Pointer && !a.runner.isOwn(typ):
		return nil // another package's zero value is its own affair
	case typ.Kind() == reflect.Pointer:
		return []reflect.Value{reflect.New(typ.Elem())}
	case typ.Kind() != reflect.Interface || typ.NumMethod() == 0:
		return nil
	}
	for _, t := range a.runner.types {
		if t.Kind() == reflect.Interface {
			continue
		}
		if t.Implements(typ) {
			all = append(all, reflect.Zero(t))
		}
		if p := reflect.PointerTo(t); p.Implements(typ) {
			all = append(all, reflect.New(t), reflect.Zero(p))
		}
	}
	return all
}

func slicesOf(typ reflect.Type, vs ...reflect.Value) reflect.Value {
	s := reflect.MakeSlice(typ, 0, len(vs))
	return reflect.Append(s, vs...)
}
