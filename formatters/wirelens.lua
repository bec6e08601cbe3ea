-- Fields from the comments that `wirelens annotate` writes, for columns, filters and statistics.
--
-- A comment is `wirelens name=value …`; a value is a number or text in double quotes, escaped as in JSON.

local wirelens = Proto("wirelens", "wirelens")

local names = {"protocol", "kind", "service", "method", "status", "exception", "outcome", "text"}
local fields = {}
for _, name in ipairs(names) do
    fields[name] = ProtoField.string("wirelens." .. name, name)
end
fields.call = ProtoField.uint32("wirelens.call", "call")
fields.latency = ProtoField.double("wirelens.latency", "latency in seconds")
fields.request_in = ProtoField.framenum("wirelens.request_in", "request in", base.NONE, frametype.REQUEST)
fields.response_in = ProtoField.framenum("wirelens.response_in", "response in", base.NONE, frametype.RESPONSE)

local every = {}
for _, field in pairs(fields) do
    every[#every + 1] = field
end
wirelens.fields = every

local comments = Field.new("frame.comment")

local escapes = {n = "\n", r = "\r", t = "\t", b = "\b", f = "\f"}

-- The text between two quotes, from the position after the first one; and the position after the second.
local function quoted(text, at)
    local parts = {}
    while true do
        local stop = text:find('["\\]', at)
        if not stop then
            return nil, #text + 1
        end
        parts[#parts + 1] = text:sub(at, stop - 1)
        if text:sub(stop, stop) == '"' then
            return table.concat(parts), stop + 1
        end
        local mark = text:sub(stop + 1, stop + 1)
        if mark == "u" or mark == "U" then
            local digits = mark == "u" and 4 or 8
            -- what cannot be shown stays as it is written
            parts[#parts + 1] = text:sub(stop, stop + 1 + digits)
            at = stop + 2 + digits
        else
            parts[#parts + 1] = escapes[mark] or mark
            at = stop + 2
        end
    end
end

-- The names and values in a comment, in order.
local function parse(text)
    local found = {}
    local at = #"wirelens " + 1
    while true do
        local first, last, name = text:find("^%s*([%a_]+)=", at)
        if not first then
            return found
        end
        local value
        if text:sub(last + 1, last + 1) == '"' then
            value, at = quoted(text, last + 2)
        else
            local _, stop, number = text:find("^(-?[%d.]+)", last + 1)
            value, at = number, (stop or #text) + 1
        end
        if value then
            found[#found + 1] = {name, value}
        end
    end
end

function wirelens.dissector(buffer, packet, tree)
    for _, comment in ipairs({comments()}) do
        local text = tostring(comment.value or comment)
        if text:sub(1, #"wirelens ") == "wirelens " then
            local branch = tree:add(wirelens, "wirelens")
            for _, pair in ipairs(parse(text)) do
                local field = fields[pair[1]]
                local number = tonumber(pair[2])
                if pair[1] == "text" then
                    branch:append_text(": " .. pair[2])
                end
                if field and (pair[1] == "latency" or pair[1] == "call" or pair[1]:find("_in$")) then
                    if number then
                        branch:add(field, number)
                    end
                elseif field then
                    branch:add(field, pair[2])
                end
            end
        end
    end
end

register_postdissector(wirelens)
