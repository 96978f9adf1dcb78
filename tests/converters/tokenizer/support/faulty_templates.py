"""Templates in which a text gets lost, or the prompt another meaning, if they are not treated as llama-server does."""

_TURN = "{{ '<|im_start|>' + m['role'] + '\n' }}%s{{ '<|im_end|>\n' }}"
_ASK = "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}%s{% endif %}"
_ALL = "{% for m in messages %}%s{% endfor %}"
_PARTS = "{% for part in m['content'] %}{% if part['type'] == 'text' %}{{ part['text'] }}{% endif %}{% endfor %}"
_TEXT = "{{ m['content'] }}"


def _chat(content: str, asked: str = "") -> str:
    return _ALL.replace("%s", _TURN % content) + _ASK.replace("%s", asked)


TYPED = {
    "parts": _chat(_PARTS),
    "parts with a dot": _ALL.replace("%s", "{{ m.role }}:{% for p in m.content %}{{ p.text }}{% endfor %};"),
    "first part": _chat("{{ m.content[0].text }}"),
    "first part by key": _chat("{{ m['content'][0]['text'] | trim }}"),
    "selected parts": _chat("{% for p in m.content | selectattr('type', 'equalto', 'text') %}{{ p.text }}{% endfor %}"),
    "parts and thinking": _chat(_PARTS, "{% if enable_thinking %}{{ '<think>' }}{% endif %}"),
}
_ANY = "{% if m.content is string %}{{ m.content }}{% else %}" + _PARTS + "{% endif %}"
EITHER = {
    "string or parts": _chat(_ANY),
    "parts or string": _chat(
        "{% if m.content is not string %}" + _PARTS + "{% else %}{{ m.content | trim }}{% endif %}"
    ),
}
NO_SYSTEM = {
    "only user": _ALL.replace("%s", "{% if m.role == 'user' %}{{ '[INST] ' + m.content + ' [/INST]' }}{% endif %}"),
    "user and answer": _ALL.replace(
        "%s",
        "{% if m.role == 'user' %}[{{ m.content }}]{% elif m.role == 'assistant' %}({{ m.content }}){% endif %}",
    ),
    "raises": "{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
    + _chat("{{ m.content | trim }}"),
    "raises in the loop": _ALL.replace(
        "%s",
        "{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('in turns, please') }}{% endif %}"
        "{{ m.role }}: {{ m.content }}\n",
    ),
}
_THOUGHTS = "{% if m.reasoning_content %}{{ '<think>\n' + m.reasoning_content + '\n</think>\n\n' }}{% endif %}"
_OFF = "{{ '<think>\n\n</think>\n\n' }}"
THINKING = {
    "on if it is said": _chat(
        _THOUGHTS + _TEXT,
        "{% if enable_thinking is defined and enable_thinking is true %}<think>{% else %}" + _OFF + "{% endif %}",
    ),
    "off if it is said": _chat(
        _THOUGHTS + _TEXT, "{% if enable_thinking is defined and enable_thinking is false %}" + _OFF + "{% endif %}"
    ),
    "on by default": _chat(
        _TEXT, "{% if enable_thinking is not defined or enable_thinking %}<think>{% else %}</think>{% endif %}"
    ),
    "no thoughts, no end": _chat(
        _TEXT, "{% if enable_thinking %}<think>\n{% else %}<think>\n\n</think>\n\n{% endif %}"
    ),
    "only off": _chat(_TEXT, "{% if not enable_thinking %}/no_think{% endif %}"),
    "in front": "{% if enable_thinking %}/think{% else %}/no_think{% endif %}" + _chat(_TEXT),
    "and a variable": _chat(_TEXT, "{% if enable_thinking %}<think>{% endif %}{{ more }}"),
    "another name": _chat(_TEXT, "{% if thinking %}<think>{% else %}</think>{% endif %}"),
}
# Families that llama-server knows, or nearly, by what their templates have.
FAMILIES = {
    mark: "{# " + mark + " #}" + _chat(_ANY, "{{ enable_thinking }}")
    for mark in (
        "content.split('</think>')",
        "content.split('</think>') reasoning_content",
        "<|channel|>",
        "'<|tool_call>call:'",
        "[SYSTEM_PROMPT] [TOOL_CALLS] [ARGS]",
        "[SYSTEM_PROMPT] [TOOL_CALLS] [ARGS] [CALL_ID]",
        "[SYSTEM_PROMPT] [ARGS]",
        "chat_format=llm-jp-harmony-v1",
        "<|tool_calls_section_begin|> <|tool_call_begin|>",
        "<|tool_calls_section_begin|>",
        "<|open|> <|close|> <|sep|> <|end_of_msg|>",
        "<role>ASSISTANT</role> <arg_key>",
        "<role>ASSISTANT</role>",
        "<|START_TEXT|> <|START_ACTION|>",
        "<|START_ACTION|>",
        "<|tool_list_start|> <|tool_list_end|>",
        "<|tool_list_start|>",
        "List of tools: [",
        "dsml_token function_calls DSML",
        "dsml_token tool_calls DSML",
        "dsml_token DSML",
        "Write your thoughts between <think></think> and write your response between <response></response>",
    )
}
VARIABLES = {
    "undefined ones": _chat(
        _TEXT, "{{ tools is defined }}{{ tools }}{{ documents }}{% if custom_tools %}a{% endif %}{{ nothing.more }}"
        .replace("{{ nothing.more }}", "{{ nothing | default('b') }}"),
    ),
    "dates": _chat(_TEXT, "{{ date_string }}|{{ datetime }}|{{ strftime_now('%d %B %Y') }}"),
    "date or its default": _chat(_TEXT, "{% if date_string is not defined %}{% set date_string = 'x' %}{% endif %}"
                                 "{{ date_string }}"),
    "earlier thoughts": _chat(
        _TEXT, "{{ preserve_thinking }}{{ clear_thinking }}{{ drop_thinking }}{{ truncate_history_thinking }}"
        "{{ preserve_reasoning }}",
    ),
    "step": "{# You have access to the following functions in JSONSchema format #}" + _chat(_TEXT),
    "tokens": "{{ bos_token }}" + _chat(_TEXT) + "{{ eos_token }}{{ unk_token }}",
    "json": _chat("{{ m.content | tojson }}", "{{ [1, 2.5, true, none, {'é': '<\"&'}] | tojson }}"),
    "generation prompt": _chat(_TEXT) + "{{ add_generation_prompt is defined }}{{ add_generation_prompt }}",
}  # fmt: skip
ALL = {
    f"{kind}: {name}": template
    for kind, group in {
        "typed": TYPED, "either": EITHER, "no system": NO_SYSTEM, "thinking": THINKING,
        "families": FAMILIES, "variables": VARIABLES,
    }.items()
    for name, template in group.items()
}  # fmt: skip
