package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/danielgtaylor/huma/v2"
)

// plainJSON is huma's JSON, whose faults are told in words of the caller.
var plainJSON = huma.Format{Marshal: huma.DefaultJSONFormat.Marshal, Unmarshal: decode}

// decode leaves out what encoding/json says of our types. The shapes were checked before, so
// what is left is a number past its bounds.
func decode(data []byte, v any) error {
	err := huma.DefaultJSONFormat.Unmarshal(data, v)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("%s is out of range: %.40s", wrong.Field, wrong.Value)
	}
	return err
}
