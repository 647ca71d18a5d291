//! Each request extends the last one byte for byte, and says what it should.

use countersign_protocol::{
    Api, Arguments, AssistantMessage, Block, CallId, Content, Item, Replay, ToolCall, ToolDefinition,
    ToolResult,
    entry::{PrefixCause, Section},
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::MaxTokensField;

fn spec(api: Api) -> ModelSpec {
    let model = "lab/some-model".parse().unwrap();
    ModelSpec { model, api, context_window: 100_000, max_output_tokens: 1_000, price: None }
}

fn prefix() -> Prefix {
    let schema = r#"{"type":"object","properties":{"command":{"type":"string"}}}"#;
    let tool = ToolDefinition { name: "bash".into(), description: "Runs it.".into(), schema: schema.into() };
    Prefix {
        model: "lab/some-model".parse().unwrap(),
        sections: vec![Section { name: "role".into(), text: "You are \"exact\".".into() }],
        tools: vec![tool],
        cause: PrefixCause::Start,
    }
}

fn encoders() -> [(Api, Box<dyn Encoder>); 3] {
    let strict = OpenAiChat { assistant_after_tools: true, ..OpenAiChat::default() };
    [
        (Api::OpenaiChat, Box::new(OpenAiChat::default())),
        (Api::OpenaiChat, Box::new(strict)),
        (Api::AnthropicMessages, Box::new(AnthropicMessages)),
    ]
}

fn call(id: &str, raw: &str) -> Block {
    let arguments = Arguments::from_text(raw);
    Block::ToolCall(ToolCall { id: CallId(id.into()), name: "bash".into(), arguments, replay: None })
}

fn result(id: &str, text: &str) -> ToolResult {
    let content = vec![Content::Text { text: text.into() }];
    ToolResult { call: CallId(id.into()), name: "bash".into(), content, is_error: false }
}

fn prompt(encoder: &dyn Encoder, api: Api, items: &[Item]) -> Prompt {
    let mut prompt = Prompt::new(encoder, &spec(api), &prefix());
    for item in items {
        prompt.push(encoder, item);
    }
    prompt
}

fn request(encoder: &dyn Encoder, api: Api, items: &[Item]) -> Value {
    serde_json::from_slice(&encoder.assemble(&prompt(encoder, api, items), None, 77)).unwrap()
}

fn history() -> Vec<Item> {
    let reasoning = Block::Reasoning {
        text: "hm".into(),
        replay: Some(Replay {
            api: Api::AnthropicMessages,
            json: r#"{"type":"thinking","thinking":"hm","signature":"s=="}"#.into(),
        }),
    };
    vec![
        Item::User { text: "Do it.".into() },
        Item::Assistant {
            message: AssistantMessage {
                blocks: vec![reasoning, call("a", r#"{"command": "ls"}"#), call("b", r#"{"command": "l"#)],
            },
        },
        Item::ToolResults { results: vec![result("a", "x"), result("b", "cut")] },
        Item::User { text: "Half is used.".into() },
    ]
}

#[test]
fn openai_chat_says_what_it_should() {
    let body = request(&OpenAiChat::default(), Api::OpenaiChat, &history());
    assert_eq!(body["max_tokens"], 77);
    assert_eq!(body["stream_options"]["include_usage"], true);
    assert_eq!(body["tools"][0]["function"]["parameters"]["type"], "object");
    let roles: Vec<_> =
        body["messages"].as_array().unwrap().iter().map(|m| m["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "tool", "user"]);
    let calls = &body["messages"][2]["tool_calls"];
    assert_eq!(calls[0]["function"]["arguments"], r#"{"command": "ls"}"#, "the model's own bytes go back");
    assert_eq!(calls[1]["function"]["arguments"], "{}", "what was cut goes back as an empty object");
    assert_eq!(body["messages"][2]["content"], Value::Null);
}

#[test]
fn anthropic_messages_says_what_it_should() {
    let body = request(&AnthropicMessages, Api::AnthropicMessages, &history());
    assert_eq!(body["max_tokens"], 77);
    assert_eq!(body["system"][0]["cache_control"], json!({ "type": "ephemeral" }));
    let assistant = &body["messages"][1]["content"];
    assert_eq!(assistant[0], json!({ "type": "thinking", "thinking": "hm", "signature": "s==" }));
    assert_eq!(assistant[2]["input"], json!({}));
    let results = body["messages"][2]["content"].as_array().unwrap();
    assert_eq!(results.len(), 2, "all results of a turn are one message");
    assert_eq!(results[1]["tool_use_id"], "b");
    assert_eq!(body["messages"][3]["content"][0]["cache_control"]["type"], "ephemeral");
    let markers = body.to_string().matches("cache_control").count();
    assert!(markers <= 4, "{markers} markers");
}

#[test]
fn the_output_limit_has_the_name_that_the_server_wants() {
    let encoder = OpenAiChat { limit: MaxTokensField::MaxCompletionTokens, ..OpenAiChat::default() };
    assert_eq!(request(&encoder, Api::OpenaiChat, &history())["max_completion_tokens"], 77);
}

#[test]
fn no_block_is_empty_for_anthropic() {
    let empty = Item::Assistant { message: AssistantMessage { blocks: vec![] } };
    let blank = Item::ToolResults { results: vec![result("a", " \n")] };
    let body = request(&AnthropicMessages, Api::AnthropicMessages, &[empty, blank]);
    assert_eq!(body["messages"][0]["content"][0]["text"], "(empty)");
    assert_eq!(body["messages"][1]["content"][0]["content"][0]["text"], "(empty)");
}

#[test]
fn pictures_follow_the_results_where_the_api_has_no_place_for_them() {
    let picture = Content::Image { media_type: "image/png".into(), data: "AAAA".into() };
    let mut with_picture = result("a", "seen");
    with_picture.content.push(picture);
    let items = [Item::ToolResults { results: vec![with_picture] }];
    let chat = request(&OpenAiChat::default(), Api::OpenaiChat, &items);
    assert_eq!(chat["messages"][2]["content"][1]["image_url"]["url"], "data:image/png;base64,AAAA");
    let anthropic = request(&AnthropicMessages, Api::AnthropicMessages, &items);
    assert_eq!(anthropic["messages"][0]["content"][0]["content"][1]["source"]["data"], "AAAA");
}

/// The texts before each cache marker of a request, as far back as their block's own text.
fn marked(items: &[Item], tail: Option<&Item>) -> Vec<String> {
    let encoder = AnthropicMessages;
    let tail = tail.map(|item| encoder.item(item, false));
    let body = encoder.assemble(&prompt(&encoder, Api::AnthropicMessages, items), tail.as_ref(), 9);
    let body = std::str::from_utf8(&body).unwrap();
    let mut blocks: Vec<&str> = body.split(r#","cache_control":{"type":"ephemeral"}"#).collect();
    blocks.pop();
    blocks
        .iter()
        .map(|block| block[block.rfind(":\"").unwrap()..].trim_matches([':', '"']).to_owned())
        .collect()
}

#[test]
fn markers_stand_where_the_last_request_had_its_end_and_where_this_one_has() {
    let user = |text: &str| Item::User { text: text.into() };
    let answer = |text: &str| Item::Assistant {
        message: AssistantMessage { blocks: vec![Block::Text { text: text.into(), replay: None }] },
    };
    let items =
        [user("one"), answer("two"), user("three"), user("four"), answer("five"), user("six"), user("seven")];
    assert_eq!(marked(&items[..1], None)[1..], ["one"]);
    assert_eq!(marked(&items[..4], None)[1..], ["one", "four"]);
    assert_eq!(marked(&items, None)[1..], ["four", "seven"]);
    assert!(marked(&items, None)[0].contains("exact"), "the system prompt is marked");
    assert_eq!(marked(&items, Some(&user("Summarise.")))[1..], ["four", "seven"], "a tail is not kept");
}

#[test]
fn without_a_system_prompt_the_last_tool_is_marked() {
    let bare = Prefix { sections: Vec::new(), ..prefix() };
    let body = |encoder: &dyn Encoder, api| -> Value {
        let mut prompt = Prompt::new(encoder, &spec(api), &bare);
        prompt.push(encoder, &Item::User { text: "Go.".into() });
        serde_json::from_slice(&encoder.assemble(&prompt, None, 9)).unwrap()
    };
    let anthropic = body(&AnthropicMessages, Api::AnthropicMessages);
    assert_eq!(anthropic.get("system"), None);
    assert_eq!(anthropic["tools"][0]["cache_control"]["type"], "ephemeral");
    assert_eq!(body(&OpenAiChat::default(), Api::OpenaiChat)["messages"].as_array().unwrap().len(), 1);
}

#[test]
fn a_schema_goes_out_as_the_text_that_it_is() {
    let schema = r##"{"type":"object", "z":1.50,"a":{"$ref":"#/x"}}"##;
    let mut with_schema = prefix();
    with_schema.tools[0].schema = schema.into();
    for (api, encoder) in encoders() {
        let bytes = Prompt::new(encoder.as_ref(), &spec(api), &with_schema).prefix().bytes.clone();
        assert!(std::str::from_utf8(&bytes).unwrap().contains(schema), "{api}");
    }
}

fn reasoned(api: Api, json: &str) -> Item {
    let replay = Some(Replay { api, json: json.into() });
    let blocks = vec![Block::Reasoning { text: "hm".into(), replay }, call("a", "{}")];
    Item::Assistant { message: AssistantMessage { blocks } }
}

#[test]
fn reasoning_goes_back_to_the_api_that_made_it_and_to_no_other() {
    let chat = [reasoned(Api::OpenaiChat, r#"{"reasoning_content":"hm"}"#)];
    let body = request(&OpenAiChat::default(), Api::OpenaiChat, &chat);
    assert_eq!(body["messages"][1]["reasoning_content"], "hm");
    let silent = OpenAiChat { replay_reasoning: false, ..OpenAiChat::default() };
    assert!(!request(&silent, Api::OpenaiChat, &chat).to_string().contains("hm"));
    assert!(!request(&AnthropicMessages, Api::AnthropicMessages, &chat).to_string().contains("hm"));

    let thought =
        [reasoned(Api::AnthropicMessages, r#"{"type":"thinking","thinking":"hm","signature":"s"}"#)];
    assert!(!request(&OpenAiChat::default(), Api::OpenaiChat, &thought).to_string().contains("hm"));
}

#[test]
fn a_signature_goes_back_with_its_call() {
    let json = r#"{"extra_content":{"google":{"thought_signature":"s=="}}}"#;
    let mut signed = call("a", "{}");
    if let Block::ToolCall(call) = &mut signed {
        call.replay = Some(Replay { api: Api::OpenaiChat, json: json.into() });
    }
    let items = [Item::Assistant { message: AssistantMessage { blocks: vec![signed] } }];
    let body = request(&OpenAiChat::default(), Api::OpenaiChat, &items);
    assert_eq!(body["messages"][1]["tool_calls"][0]["extra_content"]["google"]["thought_signature"], "s==");
}

#[test]
fn a_strict_server_gets_an_assistants_message_between_results_and_user() {
    let strict = OpenAiChat { assistant_after_tools: true, stream_usage: false, ..OpenAiChat::default() };
    let roles = |items: &[Item]| -> Vec<String> {
        let body = request(&strict, Api::OpenaiChat, items);
        assert_eq!(body.get("stream_options"), None);
        let messages = body["messages"].as_array().unwrap();
        messages.iter().map(|message| message["role"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(roles(&history()), ["system", "user", "assistant", "tool", "tool", "assistant", "user"]);
    assert_eq!(roles(&history()[..3]), ["system", "user", "assistant", "tool", "tool"]);

    let prompt = prompt(&strict, Api::OpenaiChat, &history()[..3]);
    assert!(prompt.after_results(), "a tail is bridged too");
    let tail = strict.item(&Item::User { text: "Summarise.".into() }, prompt.after_results());
    assert!(tail.bytes.starts_with(br#"{"role":"assistant""#));
}

#[test]
fn names_and_ids_that_a_provider_would_refuse_are_made_plain() {
    for (name, expected) in [
        ("bash", "bash"),
        ("", "unnamed"),
        ("bash<|channel|>json", "bash__channel__json"),
        ("mcp.files/read", "mcp_files_read"),
        ("wörk", "w_rk"),
    ] {
        assert_eq!(tool_name(name), expected);
    }
    assert_eq!(tool_name(&"x".repeat(200)).len(), 64);
    assert_eq!(plain_id("toolu_01-A"), "toolu_01-A");
    assert_ne!(plain_id("functions.bash:0"), plain_id("functions.bash.0"));

    let items = [
        Item::Assistant { message: AssistantMessage { blocks: vec![call("functions.bash:0", "{}")] } },
        Item::ToolResults { results: vec![result("functions.bash:0", "x")] },
    ];
    let body = request(&AnthropicMessages, Api::AnthropicMessages, &items);
    assert_eq!(body["messages"][0]["content"][0]["id"], body["messages"][1]["content"][0]["tool_use_id"]);
}

#[test]
fn the_order_of_tools_is_the_callers() {
    let mut two = prefix();
    two.tools.push(ToolDefinition { name: "ls".into(), ..two.tools[0].clone() });
    for (api, encoder) in encoders() {
        let hash = |prefix: &Prefix| Prompt::new(encoder.as_ref(), &spec(api), prefix).prefix_hash();
        let same = hash(&two);
        assert_eq!(hash(&two), same);
        let mut turned = two.clone();
        turned.tools.reverse();
        assert_ne!(hash(&turned), same);
    }
}

#[test]
fn the_bound_is_what_was_counted_and_a_token_for_each_new_byte() {
    let encoder = OpenAiChat::default();
    let mut prompt = prompt(&encoder, Api::OpenaiChat, &history());
    let bytes = prompt.bytes();
    assert!(crate::prompt_bound(&prompt, None) >= bytes);
    let counted = Some((bytes, 100));
    let before = crate::prompt_bound(&prompt, counted);
    assert!((100..1_000).contains(&before), "{before}");
    prompt.push(&encoder, &Item::User { text: "x".repeat(5_000) });
    assert_eq!(crate::prompt_bound(&prompt, counted) - before, prompt.bytes() - bytes);

    // A picture of few bytes may take thousands of tokens, but only once.
    let mut seen = result("a", "seen");
    seen.content.push(Content::Image { media_type: "image/png".into(), data: "AAAA".into() });
    prompt.push(&encoder, &Item::ToolResults { results: vec![seen] });
    assert!(crate::prompt_bound(&prompt, counted) > before + prompt.bytes() - bytes + 4_000);
    assert!(crate::prompt_bound(&prompt, Some((prompt.bytes(), 100))) < 1_000);
}

fn any_item() -> impl Strategy<Value = Item> {
    let text = prop_oneof![any::<String>(), Just(String::new()), Just("</system> \u{0} 🦀".to_owned())];
    let raw = prop_oneof![
        any::<String>(),
        Just(r#"{"command": "ls  é"}"#.to_owned()),
        Just(r#"{"z":1,"a":[1.50,1e3]}"#.to_owned()),
        Just("null".to_owned()),
    ];
    prop_oneof![
        text.clone().prop_map(|text| Item::User { text }),
        (text.clone(), prop::collection::vec(raw, 0..3)).prop_map(|(text, raws)| {
            let calls = raws.iter().enumerate().map(|(n, raw)| call(&format!("c{n}"), raw));
            let blocks = std::iter::once(Block::Text { text, replay: None }).chain(calls).collect();
            Item::Assistant { message: AssistantMessage { blocks } }
        }),
        prop::collection::vec(text, 1..3).prop_map(|texts| {
            let results = texts.iter().enumerate().map(|(n, text)| result(&format!("c{n}"), text)).collect();
            Item::ToolResults { results }
        }),
    ]
}

/// A request up to the end of its last message, without cache markers.
fn cacheable(body: &Bytes) -> String {
    let text = std::str::from_utf8(body).unwrap().replace(r#","cache_control":{"type":"ephemeral"}"#, "");
    text[..text.rfind("],\"max_tokens\"").unwrap()].to_owned()
}

proptest! {
    #[test]
    fn each_request_extends_the_last_one_also_in_another_process(items in prop::collection::vec(any_item(), 1..14)) {
        for (api, encoder) in encoders() {
            let mut growing = Prompt::new(encoder.as_ref(), &spec(api), &prefix());
            let mut before = String::new();
            for (number, item) in items.iter().enumerate() {
                growing.push(encoder.as_ref(), item);
                let body = encoder.assemble(&growing, None, 100 + number as u64);
                prop_assert!(serde_json::from_slice::<Value>(&body).is_ok());
                let now = cacheable(&body);
                prop_assert!(now.starts_with(&before), "{api}");
                before = now;
                let elsewhere = prompt(encoder.as_ref(), api, &items[..=number]);
                prop_assert_eq!(encoder.assemble(&elsewhere, None, 100 + number as u64), body);
                prop_assert_eq!(elsewhere.chain(), growing.chain());
            }
        }
    }
}
