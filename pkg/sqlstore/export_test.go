package sqlstore

// OrdersOfQuery is what OrdersOf asks, for a look at how it is answered.
const OrdersOfQuery = ordersOf
