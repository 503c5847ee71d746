// Generated from spec/openapi.yaml by `npm run generate`. Do not edit.

export interface paths {
    "/v1/disbursements": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send money to a mobile wallet
         * @description Records the payout and answers with its status, which may already be final. The merchant's `reference`
         *     can be used once; sending it again is refused with 409, whose `Location` leads to the payout that exists.
         */
        post: operations["createDisbursement"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/disbursements/{reference}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Look a payout up by the service's reference */
        get: operations["verifyDisbursement"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/checkouts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Make a link to a payment page */
        post: operations["createCheckout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/checkouts/{reference}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Look a checkout up by the service's reference */
        get: operations["verifyCheckout"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sandbox/clock": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the merchant's sandbox time */
        get: operations["readClock"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sandbox/clock/advance": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Move the merchant's sandbox time forward
         * @description Whatever falls due on the way (settlement, expiry, webhook attempts) happens in order of its time,
         *     before the answer.
         */
        post: operations["advanceClock"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sandbox/reset": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Forget the merchant's records and put its clock back to real time
         * @description Keys and the webhook secret stay; a rotation of it ends. Attempts in flight are not recalled.
         */
        post: operations["resetSandbox"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sandbox/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the events of the merchant's records, newest first */
        get: operations["listEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sandbox/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List webhook deliveries with their attempts, newest first */
        get: operations["listDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sandbox/deliveries/{id}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Deliver a webhook again, now
         * @description One attempt is made before the answer, with the same `webhook-id`. Should it fail, the retry
         *     schedule starts again.
         */
        post: operations["replayDelivery"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sandbox/checkouts/{reference}/finish": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** End a checkout with a chosen outcome, without a browser */
        post: operations["finishCheckout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sandbox/webhook-secret": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the secret that signs the merchant's webhooks */
        get: operations["readWebhookSecret"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sandbox/webhook-secret/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Replace the webhook secret
         * @description For a day of the merchant's sandbox time both the old and the new secret sign.
         */
        post: operations["rotateWebhookSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface webhooks {
    "disbursement.completed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A payout succeeded */
        post: operations["onDisbursementCompleted"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "disbursement.failed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A payout failed */
        post: operations["onDisbursementFailed"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "checkout.completed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A customer paid */
        post: operations["onCheckoutCompleted"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "checkout.failed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A customer's payment failed */
        post: operations["onCheckoutFailed"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "checkout.cancelled": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A customer cancelled, or did not pay in time */
        post: operations["onCheckoutCancelled"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface components {
    schemas: {
        /** @description The merchant's own reference, kept exactly as sent. */
        Reference: string;
        /**
         * Format: int64
         * @description In the lowest denomination of the currency.
         */
        Amount: number;
        /**
         * Format: int64
         * @description In the lowest denomination of the currency; charged on top of the amount.
         */
        Fee: number;
        /** @description International format without a plus sign. */
        PhoneNumber: string;
        /** @description ISO country code of two letters. */
        Country: string;
        /** @description ISO currency code of three letters. */
        Currency: string;
        /**
         * Format: uri
         * @description An http or https address without user or password.
         */
        WebURL: string;
        /**
         * Format: date-time
         * @description ISO 8601, UTC, with milliseconds.
         */
        Timestamp: string;
        /** @enum {string} */
        DisbursementStatus: "pending" | "success" | "failed";
        /** @enum {string} */
        CheckoutStatus: "pending" | "success" | "failed" | "cancelled";
        DisbursementRequest: {
            /** @description Unique for every disbursement of the merchant, for ever. */
            reference: components["schemas"]["Reference"];
            amount: components["schemas"]["Amount"];
            /** @description The recipient's number, in international format without a plus sign. */
            phoneNumber: components["schemas"]["PhoneNumber"];
            country: components["schemas"]["Country"];
            currency: components["schemas"]["Currency"];
            /** @description Where events of this disbursement are sent. */
            webhookURL?: components["schemas"]["WebURL"];
        };
        DisbursementCreated: {
            /** @description The service's reference; the one to verify with. */
            reference: string;
            /** @description The merchant's own reference, as it was sent. */
            merchantsReference: string;
            amount: components["schemas"]["Amount"];
            fee: components["schemas"]["Fee"];
            status: components["schemas"]["DisbursementStatus"];
        };
        DisbursementCreatedEnvelope: {
            statusCode: number;
            data: components["schemas"]["DisbursementCreated"];
        };
        Merchant: {
            /** @description The merchant's name. */
            name: string;
        };
        /** @description The person paid, or the payer of a checkout; one per merchant and phone number. */
        Customer: {
            id: string;
            name: string;
            phoneNumber: components["schemas"]["PhoneNumber"];
        };
        Disbursement: {
            /** @description Identifies the record inside the service. */
            id: string;
            /** @description Identifies the merchant's user who owns the record. */
            userId: string;
            merchant: components["schemas"]["Merchant"];
            customer: components["schemas"]["Customer"];
            country: components["schemas"]["Country"];
            currency: components["schemas"]["Currency"];
            amount: components["schemas"]["Amount"];
            fee: components["schemas"]["Fee"];
            /** @description As given at creation; left out when none was given. */
            webhookURL?: components["schemas"]["WebURL"];
            /** @description The service's reference. */
            reference: string;
            /** @description The merchant's own reference. */
            merchantsReference: string;
            status: components["schemas"]["DisbursementStatus"];
            createdAt: components["schemas"]["Timestamp"];
            updatedAt: components["schemas"]["Timestamp"];
        };
        DisbursementEnvelope: {
            statusCode: number;
            data: components["schemas"]["Disbursement"];
        };
        CheckoutRequest: {
            amount: components["schemas"]["Amount"];
            currency: components["schemas"]["Currency"];
            country: components["schemas"]["Country"];
            /** @description Where events of this checkout are sent. */
            webhookURL?: components["schemas"]["WebURL"];
            /** @description Where the customer goes after paying. */
            redirectURL?: components["schemas"]["WebURL"];
            /** @description The merchant's own reference; unique among its checkouts when given. */
            reference?: components["schemas"]["Reference"];
            /**
             * @description Language of the payment page.
             * @default en
             * @enum {string}
             */
            locale?: "en" | "fr";
        };
        CheckoutCreated: {
            /**
             * Format: uri
             * @description The payment page; send the customer there.
             */
            url: string;
            /** @description The service's reference; store it with the order. */
            reference: string;
            /** @description The merchant's own reference, or the service's when none was given. */
            merchantsReference: string;
            amount: components["schemas"]["Amount"];
            fee: components["schemas"]["Fee"];
            status: components["schemas"]["CheckoutStatus"];
        };
        CheckoutCreatedEnvelope: {
            statusCode: number;
            data: components["schemas"]["CheckoutCreated"];
        };
        Checkout: {
            /** @description Identifies the record inside the service. */
            id: string;
            /** @description Identifies the merchant's user who owns the record. */
            userId: string;
            merchant: components["schemas"]["Merchant"];
            /** @description The payer; left out until a number was given on the payment page. */
            customer?: components["schemas"]["Customer"];
            country: components["schemas"]["Country"];
            currency: components["schemas"]["Currency"];
            amount: components["schemas"]["Amount"];
            fee: components["schemas"]["Fee"];
            /** @description As given at creation; left out when none was given. */
            webhookURL?: components["schemas"]["WebURL"];
            /** @description As given at creation; left out when none was given. */
            redirectURL?: components["schemas"]["WebURL"];
            /** @description The service's reference. */
            reference: string;
            /** @description The merchant's own reference, or the service's when none was given. */
            merchantsReference: string;
            status: components["schemas"]["CheckoutStatus"];
            createdAt: components["schemas"]["Timestamp"];
            updatedAt: components["schemas"]["Timestamp"];
        };
        CheckoutEnvelope: {
            statusCode: number;
            data: components["schemas"]["Checkout"];
        };
        Error: {
            /** @description The same as the HTTP status. */
            statusCode: number;
            /** @description A short phrase for people. */
            error: string;
            /** @description What to mend, every offending field named. */
            message?: string;
        };
        DisbursementCompletedEvent: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            event: "disbursement.completed";
            /** @description What verify returns at that moment. */
            data: components["schemas"]["Disbursement"];
        };
        DisbursementFailedEvent: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            event: "disbursement.failed";
            /** @description What verify returns at that moment. */
            data: components["schemas"]["Disbursement"];
        };
        CheckoutCompletedEvent: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            event: "checkout.completed";
            /** @description What verify returns at that moment. */
            data: components["schemas"]["Checkout"];
        };
        CheckoutFailedEvent: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            event: "checkout.failed";
            /** @description What verify returns at that moment. */
            data: components["schemas"]["Checkout"];
        };
        CheckoutCancelledEvent: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            event: "checkout.cancelled";
            /** @description What verify returns at that moment. */
            data: components["schemas"]["Checkout"];
        };
        /** @description What a receiver gets; `event` tells which. */
        WebhookEvent: components["schemas"]["DisbursementCompletedEvent"] | components["schemas"]["DisbursementFailedEvent"] | components["schemas"]["CheckoutCompletedEvent"] | components["schemas"]["CheckoutFailedEvent"] | components["schemas"]["CheckoutCancelledEvent"];
        ClockAdvance: {
            /** @description How far to move, in seconds; a year at most. */
            seconds: number;
        };
        Clock: {
            /** @description The merchant's sandbox time. */
            now: components["schemas"]["Timestamp"];
        };
        ClockEnvelope: {
            statusCode: number;
            data: components["schemas"]["Clock"];
        };
        CheckoutFinish: {
            /**
             * @description The final status to give the checkout.
             * @enum {string}
             */
            outcome: "success" | "failed" | "cancelled";
        };
        /** @description A status change, written in one transaction with it. */
        Event: {
            /** @description Also the delivery's id, and `webhook-id` on the wire. */
            id: string;
            /** @description In the merchant's sandbox time. */
            createdAt: components["schemas"]["Timestamp"];
            /** @description The service's reference of the record that changed. */
            reference: string;
            body: components["schemas"]["WebhookEvent"];
        };
        EventList: {
            events: components["schemas"]["Event"][];
            /** @description Send as `before` for the next page; left out on the last page. */
            next?: string;
        };
        EventListEnvelope: {
            statusCode: number;
            data: components["schemas"]["EventList"];
        };
        /**
         * @description `pending`: attempts are still to come. `delivered`: the receiver took it. `ended`: the receiver answered 410.
         *     `exhausted`: the schedule is over.
         * @enum {string}
         */
        DeliveryStatus: "pending" | "delivered" | "ended" | "exhausted";
        /** @description One try to deliver a webhook. */
        Attempt: {
            number: number;
            /** @description In the merchant's sandbox time. */
            at: components["schemas"]["Timestamp"];
            /** @description Real time, as in `webhook-timestamp`. */
            sentAt: components["schemas"]["Timestamp"];
            /** @description Milliseconds of real time until the answer or the error. */
            latencyMs: number;
            /** @description The receiver's status; left out when there was no answer. */
            httpStatus?: number;
            /** @description The first KiB of the receiver's answer. */
            responseBody?: string;
            /** @description Why the attempt failed; left out when it succeeded. */
            error?: string;
        };
        Delivery: {
            /** @description The event's id, and `webhook-id` on the wire. */
            id: string;
            /** @enum {string} */
            event: "disbursement.completed" | "disbursement.failed" | "checkout.completed" | "checkout.failed" | "checkout.cancelled";
            /** @description The service's reference of the record that changed. */
            reference: string;
            /** @description The record's `webhookURL`. */
            url: components["schemas"]["WebURL"];
            status: components["schemas"]["DeliveryStatus"];
            /** @description In the merchant's sandbox time. */
            createdAt: components["schemas"]["Timestamp"];
            /** @description In the merchant's sandbox time; left out when no attempt is to come. */
            nextAttemptAt?: components["schemas"]["Timestamp"];
            attempts: components["schemas"]["Attempt"][];
        };
        DeliveryEnvelope: {
            statusCode: number;
            data: components["schemas"]["Delivery"];
        };
        DeliveryList: {
            deliveries: components["schemas"]["Delivery"][];
            /** @description Send as `before` for the next page; left out on the last page. */
            next?: string;
        };
        DeliveryListEnvelope: {
            statusCode: number;
            data: components["schemas"]["DeliveryList"];
        };
        WebhookSecret: {
            /** @description Signs every webhook of the merchant. */
            secret: string;
            /** @description Signs as well until `previousSecretExpiresAt`; left out when no rotation is under way. */
            previousSecret?: string;
            /** @description In the merchant's sandbox time. */
            previousSecretExpiresAt?: components["schemas"]["Timestamp"];
        };
        WebhookSecretEnvelope: {
            statusCode: number;
            data: components["schemas"]["WebhookSecret"];
        };
    };
    responses: {
        /** @description The request is not of the right form, for instance a field is missing or of the wrong type. */
        BadRequest: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The key is missing or not valid. */
        Unauthorized: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The merchant has no record with this reference. */
        NotFound: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The merchant has used this `reference` before. */
        DuplicateDisbursement: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                /** @description Path of the payout that has this reference. */
                Location?: string;
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The merchant has used this `reference` for a checkout before. */
        DuplicateCheckout: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                /** @description Path of the checkout that has this reference. */
                Location?: string;
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The checkout has ended, and its status does not change any more. */
        CheckoutFinal: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description An attempt of this delivery is under way. */
        DeliveryInFlight: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The body is larger than 16 KiB. */
        ContentTooLarge: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The body is not announced as `application/json`. */
        UnsupportedMediaType: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The request has the right form, but a value breaks a pattern, range or format. */
        UnprocessableContent: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The rate limit is on, and the merchant is over it. */
        TooManyRequests: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                "Retry-After": components["headers"]["RetryAfter"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Something went wrong on the server. */
        InternalServerError: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The service cannot take the payout now; nothing was recorded. */
        ServiceUnavailable: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                "Retry-After": components["headers"]["RetryAfter"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The merchant's sandbox time. */
        Clock: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ClockEnvelope"];
            };
        };
        /** @description The secret in force and, during a rotation, the one before it. */
        WebhookSecret: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["WebhookSecretEnvelope"];
            };
        };
        /** @description The receiver has the event; it is not sent again. */
        WebhookReceived: {
            headers: {
                [name: string]: unknown;
            };
            content?: never;
        };
        /** @description The receiver wants no further attempts of this event. */
        WebhookGone: {
            headers: {
                [name: string]: unknown;
            };
            content?: never;
        };
    };
    parameters: {
        /** @description Only those of the record with this service reference. */
        FilterReference: string;
        /** @description How many at the most. */
        Limit: number;
        /** @description Only those older than this id; `next` of the page before. */
        Before: string;
        /** @description The same on every attempt; receivers deduplicate on it. */
        WebhookId: string;
        /** @description Real time of the attempt, in seconds since 1970. */
        WebhookTimestamp: string;
        /** @description One `v1,` plus the base64 HMAC-SHA256 of `id.timestamp.body` for each secret in force, separated by spaces. */
        WebhookSignature: string;
    };
    requestBodies: never;
    headers: {
        /** @description Identifies the request in the server's logs; quote it when asking for help. */
        RequestId: string;
        /** @description Seconds to wait before trying again. */
        RetryAfter: number;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    createDisbursement: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DisbursementRequest"];
            };
        };
        responses: {
            /** @description The payout was recorded. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DisbursementCreatedEnvelope"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            409: components["responses"]["DuplicateDisbursement"];
            413: components["responses"]["ContentTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["UnprocessableContent"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    verifyDisbursement: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The reference that the service gave when the payout was created. */
                reference: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The payout as it stands now. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DisbursementEnvelope"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
        };
    };
    createCheckout: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CheckoutRequest"];
            };
        };
        responses: {
            /** @description The link, and the reference to store with the order. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CheckoutCreatedEnvelope"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            409: components["responses"]["DuplicateCheckout"];
            413: components["responses"]["ContentTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["UnprocessableContent"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
        };
    };
    verifyCheckout: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The reference that the service gave when the checkout was created. */
                reference: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The checkout as it stands now. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CheckoutEnvelope"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
        };
    };
    readClock: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Clock"];
            401: components["responses"]["Unauthorized"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
        };
    };
    advanceClock: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ClockAdvance"];
            };
        };
        responses: {
            200: components["responses"]["Clock"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            413: components["responses"]["ContentTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["UnprocessableContent"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
        };
    };
    resetSandbox: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Clock"];
            401: components["responses"]["Unauthorized"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
        };
    };
    listEvents: {
        parameters: {
            query?: {
                /** @description Only those of the record with this service reference. */
                reference?: components["parameters"]["FilterReference"];
                /** @description How many at the most. */
                limit?: components["parameters"]["Limit"];
                /** @description Only those older than this id; `next` of the page before. */
                before?: components["parameters"]["Before"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of events. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventListEnvelope"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            422: components["responses"]["UnprocessableContent"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
        };
    };
    listDeliveries: {
        parameters: {
            query?: {
                /** @description Only those of the record with this service reference. */
                reference?: components["parameters"]["FilterReference"];
                /** @description Only deliveries in this state. */
                status?: components["schemas"]["DeliveryStatus"];
                /** @description How many at the most. */
                limit?: components["parameters"]["Limit"];
                /** @description Only those older than this id; `next` of the page before. */
                before?: components["parameters"]["Before"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of deliveries. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryListEnvelope"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            422: components["responses"]["UnprocessableContent"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
        };
    };
    replayDelivery: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The delivery's id, which receivers see as `webhook-id`. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The delivery after the attempt. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryEnvelope"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["DeliveryInFlight"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
        };
    };
    finishCheckout: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The service's reference of the checkout. */
                reference: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CheckoutFinish"];
            };
        };
        responses: {
            /** @description The checkout with its final status. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CheckoutEnvelope"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["CheckoutFinal"];
            413: components["responses"]["ContentTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["UnprocessableContent"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
        };
    };
    readWebhookSecret: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["WebhookSecret"];
            401: components["responses"]["Unauthorized"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
        };
    };
    rotateWebhookSecret: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["WebhookSecret"];
            401: components["responses"]["Unauthorized"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalServerError"];
        };
    };
    onDisbursementCompleted: {
        parameters: {
            query?: never;
            header: {
                /** @description The same on every attempt; receivers deduplicate on it. */
                "webhook-id": components["parameters"]["WebhookId"];
                /** @description Real time of the attempt, in seconds since 1970. */
                "webhook-timestamp": components["parameters"]["WebhookTimestamp"];
                /** @description One `v1,` plus the base64 HMAC-SHA256 of `id.timestamp.body` for each secret in force, separated by spaces. */
                "webhook-signature": components["parameters"]["WebhookSignature"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DisbursementCompletedEvent"];
            };
        };
        responses: {
            410: components["responses"]["WebhookGone"];
            "2XX": components["responses"]["WebhookReceived"];
        };
    };
    onDisbursementFailed: {
        parameters: {
            query?: never;
            header: {
                /** @description The same on every attempt; receivers deduplicate on it. */
                "webhook-id": components["parameters"]["WebhookId"];
                /** @description Real time of the attempt, in seconds since 1970. */
                "webhook-timestamp": components["parameters"]["WebhookTimestamp"];
                /** @description One `v1,` plus the base64 HMAC-SHA256 of `id.timestamp.body` for each secret in force, separated by spaces. */
                "webhook-signature": components["parameters"]["WebhookSignature"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DisbursementFailedEvent"];
            };
        };
        responses: {
            410: components["responses"]["WebhookGone"];
            "2XX": components["responses"]["WebhookReceived"];
        };
    };
    onCheckoutCompleted: {
        parameters: {
            query?: never;
            header: {
                /** @description The same on every attempt; receivers deduplicate on it. */
                "webhook-id": components["parameters"]["WebhookId"];
                /** @description Real time of the attempt, in seconds since 1970. */
                "webhook-timestamp": components["parameters"]["WebhookTimestamp"];
                /** @description One `v1,` plus the base64 HMAC-SHA256 of `id.timestamp.body` for each secret in force, separated by spaces. */
                "webhook-signature": components["parameters"]["WebhookSignature"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CheckoutCompletedEvent"];
            };
        };
        responses: {
            410: components["responses"]["WebhookGone"];
            "2XX": components["responses"]["WebhookReceived"];
        };
    };
    onCheckoutFailed: {
        parameters: {
            query?: never;
            header: {
                /** @description The same on every attempt; receivers deduplicate on it. */
                "webhook-id": components["parameters"]["WebhookId"];
                /** @description Real time of the attempt, in seconds since 1970. */
                "webhook-timestamp": components["parameters"]["WebhookTimestamp"];
                /** @description One `v1,` plus the base64 HMAC-SHA256 of `id.timestamp.body` for each secret in force, separated by spaces. */
                "webhook-signature": components["parameters"]["WebhookSignature"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CheckoutFailedEvent"];
            };
        };
        responses: {
            410: components["responses"]["WebhookGone"];
            "2XX": components["responses"]["WebhookReceived"];
        };
    };
    onCheckoutCancelled: {
        parameters: {
            query?: never;
            header: {
                /** @description The same on every attempt; receivers deduplicate on it. */
                "webhook-id": components["parameters"]["WebhookId"];
                /** @description Real time of the attempt, in seconds since 1970. */
                "webhook-timestamp": components["parameters"]["WebhookTimestamp"];
                /** @description One `v1,` plus the base64 HMAC-SHA256 of `id.timestamp.body` for each secret in force, separated by spaces. */
                "webhook-signature": components["parameters"]["WebhookSignature"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CheckoutCancelledEvent"];
            };
        };
        responses: {
            410: components["responses"]["WebhookGone"];
            "2XX": components["responses"]["WebhookReceived"];
        };
    };
}
