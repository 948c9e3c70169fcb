package httpapi

import (
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"

	"github.com/openseckill/seckill/pkg/seckill"
)

const apiVersion = "1"

// bearer marks an operation that needs a token.
var bearer = []map[string][]string{{"bearer": {}}}

// register adds every route to the router and to its description.
func (a *API) register() {
	api := humagin.New(a.engine, description())
	a.doc = api.OpenAPI()
	api.UseMiddleware(oneShape, jsonOnly, bounded)

	a.routeBuy()
	a.routeEvents(api)
	a.routeMyOrders(api)
	a.routeLife(api)
	huma.Register(api, huma.Operation{
		OperationID: "getOrder", Method: http.MethodGet, Path: "/api/v1/orders/{orderId}",
		Summary: "An order, from the moment it was accepted", Security: bearer,
		Middlewares: huma.Middlewares{a.signedIn, enduring}, Metadata: waits,
	}, a.getOrder)
	huma.Register(api, huma.Operation{
		OperationID: "listVouchers", Method: http.MethodGet, Path: "/api/v1/vouchers",
		Summary: "Vouchers by id",
	}, a.listVouchers)
	huma.Register(api, huma.Operation{
		OperationID: "getVoucher", Method: http.MethodGet, Path: "/api/v1/vouchers/{voucherId}",
		Summary: "A voucher",
	}, a.getVoucher)
	a.routeAdmin(api)
	a.routeLive(api)
	a.describe() // the last: it completes what was registered
	a.routeDocs()
	a.routePages()
}

// limitedElsewhere turns off huma's own limit of bodies: limitBody's holds for all routes.
const limitedElsewhere = -1

// description is huma's configuration without the routes it would add, and without the
// $schema member it would put into each answer.
func description() huma.Config {
	config := huma.DefaultConfig("Flash sale", apiVersion)
	config.OpenAPIPath, config.DocsPath, config.SchemasPath = "", "", ""
	config.CreateHooks = nil
	config.Formats = map[string]huma.Format{"application/json": plainJSON, "json": plainJSON}
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"bearer": {Type: "http", Scheme: "bearer", BearerFormat: "JWT"},
	}
	return config
}

// oneShape forgets what the client accepts. There is JSON alone, and huma would name it "json",
// which is no media type, to one who asked for that.
func oneShape(ctx huma.Context, next func(huma.Context)) {
	humagin.Unwrap(ctx).Request.Header.Del("Accept")
	next(ctx)
}

// routeBuy registers the hot path past huma, and describes it by hand.
func (a *API) routeBuy() {
	a.engine.POST("/api/v1/vouchers/:voucherId/orders", a.buy)

	schemas := a.doc.Components.Schemas
	answer := func(body any) *huma.Response {
		schema := schemas.Schema(reflect.TypeOf(body), true, "")
		return &huma.Response{Content: map[string]*huma.MediaType{"application/json": {Schema: schema}}}
	}
	a.doc.AddOperation(&huma.Operation{
		OperationID: "buy", Method: http.MethodPost, Path: "/api/v1/vouchers/{voucherId}/orders",
		Summary: "Buy one unit", Security: bearer,
		Parameters: []*huma.Param{{
			Name: "voucherId", In: "path", Required: true, Description: "Voucher id, canonical decimal",
			Schema: schemas.Schema(reflect.TypeFor[seckill.VoucherID](), true, ""),
		}},
		Responses: map[string]*huma.Response{"202": answer(bought{}), "200": answer(bought{})},
	})
}
