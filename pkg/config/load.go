package config

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
)

const prefix = "SECKILL_"

// Error is everything that is wrong with the settings.
type Error struct{ Faults []Fault }

// Fault is what is wrong with one variable.
type Fault struct {
	Variable string // "SECKILL_CLAIM_IDLE"
	Wrong    string // `"5000" is no duration with a unit`; never a secret
	Example  string // "30s"; "" where none helps
}

// Error names each variable on a line of its own.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("wrong settings:")
	for _, f := range e.Faults {
		fmt.Fprintf(&b, "\n  %s: %s", f.Variable, f.Wrong)
		if f.Example != "" {
			fmt.Fprintf(&b, "; for example %s", f.Example)
		}
	}
	return b.String()
}

type settings interface{ check(*faults) }

func load[T settings](environ map[string]string) (T, error) {
	if environ == nil {
		environ = map[string]string{} // nil would be those of the process
	}
	var zero, c T
	f := &faults{environ: environ, variables: variables(reflect.TypeFor[T]())}
	// The library can fill any struct, but names a field, not its variable.
	err := env.ParseWithOptions(&c, env.Options{Environment: f.environ})
	f.parse(err)
	c.check(f)
	f.misspelt()
	if len(f.list) > 0 {
		return zero, &Error{Faults: f.list}
	}
	return c, nil
}

// variable is a field that an environment variable fills.
type variable struct {
	field   string
	kind    reflect.Type
	example string
}

// variables returns those of a struct and of the structs in it, by name. Their fields have
// distinct names, by which a fault of the library finds its variable.
func variables(t reflect.Type) map[string]variable {
	vs := make(map[string]variable)
	for i := range t.NumField() {
		f := t.Field(i)
		if name, ok := f.Tag.Lookup("env"); ok {
			example := f.Tag.Get("example")
			if example == "" {
				example = f.Tag.Get("envDefault")
			}
			vs[name] = variable{field: f.Name, kind: f.Type, example: example}
		} else if f.Type.Kind() == reflect.Struct {
			maps.Copy(vs, variables(f.Type))
		}
	}
	return vs
}

// faults collects what is wrong, the first fault of each variable only.
type faults struct {
	environ   map[string]string
	variables map[string]variable
	list      []Fault
}

// unless adds a fault where ok is false. What is said follows the value, which is shown
// unless the variable is a secret or has none.
func (f *faults) unless(ok bool, name, format string, a ...any) {
	seen := slices.ContainsFunc(f.list, func(f Fault) bool { return f.Variable == name })
	if ok || seen {
		return
	}
	v, wrong := f.variables[name], fmt.Sprintf(format, a...)
	if value := f.environ[name]; value != "" && v.kind != reflect.TypeFor[Secret]() {
		wrong = fmt.Sprintf("%q %s", value, wrong)
	}
	f.list = append(f.list, Fault{Variable: name, Wrong: wrong, Example: v.example})
}

// parse adds what the library could not read.
func (f *faults) parse(err error) {
	var all env.AggregateError
	if !errors.As(err, &all) {
		return
	}
	for _, err := range all.Errors {
		var one env.ParseError
		if !errors.As(err, &one) {
			f.list = append(f.list, Fault{Variable: prefix + "*", Wrong: err.Error()})
			continue
		}
		for name, v := range f.variables {
			f.unless(v.field != one.Name, name, "%s", misread(v.kind))
		}
	}
}

// misread says what a value that could not be read as a t is not.
func misread(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[time.Duration]():
		return "is no duration with a unit"
	case reflect.TypeFor[slog.Level]():
		return "is no level of debug, info, warn, error"
	case reflect.TypeFor[bool]():
		return "is neither true nor false"
	default:
		return "is no whole number in range"
	}
}

// misspelt adds each variable that nobody knows and that is close to one that somebody
// does. One that is not close may be anybody's: Kubernetes sets SECKILL_API_PORT and the
// like for a service of that name.
func (f *faults) misspelt() {
	names := known()
	for _, name := range slices.Sorted(maps.Keys(f.environ)) {
		if !strings.HasPrefix(strings.ToUpper(name), prefix) || slices.Contains(names, name) {
			continue
		}
		if near := nearest(strings.ToUpper(name), names); near != "" {
			f.list = append(f.list, Fault{Variable: name, Wrong: "is not known; " + near + " is"})
		}
	}
}

// known returns the variables of all programs, so that one environment serves both.
func known() []string {
	all := variables(reflect.TypeFor[API]())
	maps.Copy(all, variables(reflect.TypeFor[Worker]()))
	return slices.Sorted(maps.Keys(all))
}
